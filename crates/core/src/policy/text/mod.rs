//! Policies as text: TOML, JSON, and any other self-describing format that serde has.
//!
//! Each plan has a shadow, a plain struct that says how the plan is written; what the plan refuses
//! becomes the text of serde's error. A message about a setting begins with its dotted key, so that
//! a tool can point at it. Missing keys take the defaults of the builders, unknown keys are
//! refused. `docs/policy.md` lists every key.
//!
//! ```
//! use stagger_core::{Policy, Span};
//! let policy: Policy = toml::from_str(r#"
//!     [backoff]
//!     base = "50ms"
//!     jitter = { symmetric = 0.2 }
//!
//!     [limits]
//!     max_attempts = 5
//!     deadline = "30s"
//!
//!     [budget.window]
//!     ratio = 0.2
//! "#)?;
//! assert_eq!(policy.backoff().ceiling(2), Span::from_millis(100));
//! assert_eq!(policy.limits().max_attempts(), Some(5));
//!
//! let written = toml::to_string(&policy).expect("every policy can be written");
//! assert_eq!(toml::from_str::<Policy>(&written)?, policy);
//!
//! let error = toml::from_str::<Policy>("[hints]\nspread = nan").unwrap_err();
//! assert_eq!(
//!     error.message(),
//!     "hints.spread = NaN: must be a finite number from 0 to 4294.967295",
//! );
//! # Ok::<(), toml::de::Error>(())
//! ```

mod adaptive;
mod attempt_limits;
mod backoff;
mod breaker;
mod budget;
mod convert;
mod hedge;
mod hints;
mod limits;
mod policy;
