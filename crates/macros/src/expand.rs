//! The function with its body inside a call.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ItemFn, ReturnType};

use crate::settings::RetrySettings;

/// The same function, whose body is the operation of a call.
pub(crate) fn expand(settings: RetrySettings, function: ItemFn) -> syn::Result<TokenStream> {
    let ItemFn { attrs, vis, sig, block } = function;
    let ReturnType::Type(_, returned) = &sig.output else {
        let wanted = "a retried function returns `Result<T, stagger::Error<E>>`";
        return Err(syn::Error::new_spanned(&sig.ident, wanted));
    };
    if let Some(constness) = sig.constness {
        return Err(syn::Error::new_spanned(constness, "a retried function cannot be `const`"));
    }
    let RetrySettings { policy, retrier, when } = settings;
    let policy = policy.map(|policy| quote!(.policy(#policy)));
    let when = when.map(|when| quote!(.when(#when)));
    let result = quote!(<#returned as ::stagger::call::Retried>::Attempt);
    let body = if sig.asyncness.is_some() {
        let op = quote!(|| async { let result: #result = async { #block }.await; result });
        let call = match retrier {
            Some(retrier) => quote!((&#retrier).retry(#op)),
            None => quote!(::stagger::retry(#op)),
        };
        quote!(#call #policy #when .await)
    } else {
        let op = quote!(|| -> #result { #block });
        let call = match retrier {
            Some(retrier) => quote!((&#retrier).retry_blocking(#op)),
            None => quote!(::stagger::retry_blocking(#op)),
        };
        quote!(#call #policy #when .call())
    };
    Ok(quote!(#(#attrs)* #vis #sig { #body }))
}
