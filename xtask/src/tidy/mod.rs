//! Style as a program: `cargo xtask tidy`. STYLE.md says what each check is for.

mod arrows;
mod clock;
mod layer_table;
mod map;
mod mod_lines;
mod msrv;
mod named_paths;
mod names;
mod report;
mod sizes;
mod source;
mod unused;
mod uses;

pub(crate) use map::write as write_map;
pub(crate) use report::run;
