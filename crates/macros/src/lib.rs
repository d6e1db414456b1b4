#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod expand;
mod settings;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Retries the body of a function: see `stagger::retry`, which documents it.
#[proc_macro_attribute]
pub fn retry(settings: TokenStream, function: TokenStream) -> TokenStream {
    let settings = parse_macro_input!(settings as settings::RetrySettings);
    let function = parse_macro_input!(function as ItemFn);
    expand::expand(settings, function).unwrap_or_else(syn::Error::into_compile_error).into()
}
