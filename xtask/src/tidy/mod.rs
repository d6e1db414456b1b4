//! Style as a program: `cargo xtask tidy`. STYLE.md says what each check is for.

mod arrows;
mod circles;
mod clock;
mod dead;
mod finding;
mod front;
mod layer_table;
mod layers;
mod map;
mod msrv;
mod names;
mod openings;
mod paths;
mod report;
mod run;
mod sizes;
mod source;
mod test_files;
mod text;
mod tree;
mod type_names;
mod unused;
mod uses;

pub(crate) use map::write as write_map;
pub(crate) use run::run;
