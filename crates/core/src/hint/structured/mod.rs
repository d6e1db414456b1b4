//! Structured field values (RFC 9651): lists, dictionaries and items, read and written strictly.
//!
//! ```
//! use stagger_core::hint::structured::{BareItem, Item, List};
//! let list = List::parse(b"\"default\";r=0;t=30").unwrap();
//! let item = list.0[0].as_item().unwrap();
//! assert_eq!(item.value, BareItem::String("default".into()));
//! assert_eq!(item.parameters.get("t"), Some(&BareItem::Integer(30)));
//! // An Idempotency-Key is an Item that is a String.
//! let key = Item::from(BareItem::String("8e03978e-40d5-43dd".into()));
//! assert_eq!(key.serialize().unwrap(), "\"8e03978e-40d5-43dd\"");
//! ```
//!
//! A field that came in several lines is joined with `", "` before it is parsed (section 4.2).
//! The RFC leaves some cases open. There, parsing is lenient: base64 without padding or with bits set in
//! it is accepted. The sizes that a parser must support are also the largest accepted here.

mod bare;
mod base64;
mod decimal;
mod parse;
mod serialize;
mod value;

pub use decimal::Decimal;
pub use parse::StructuredError;
pub use value::Keyed;
pub use value::{BareItem, Dictionary, InnerList, Item, List, Member, Parameters};
