//! The settings of the attribute: `policy`, `retrier` and `when`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, MetaNameValue, Token};

/// The ready policies by name, as `Policy::preset` knows them.
const PRESETS: [(&str, &str); 9] = [
    ("aws_standard", "aws_standard_2_1"),
    ("aws_standard_2_0", "aws_standard_2_0"),
    ("aws_standard_2_1", "aws_standard_2_1"),
    ("aws_dynamodb", "aws_dynamodb"),
    ("grpc", "grpc"),
    ("google_cloud", "google_cloud"),
    ("webhook", "webhook"),
    ("interactive", "interactive"),
    ("batch", "batch"),
];

/// The settings of one function.
#[derive(Default)]
pub(crate) struct RetrySettings {
    /// An expression of the type `Policy`.
    pub(crate) policy: Option<TokenStream>,
    /// An expression that derefs to a `Retrier`.
    pub(crate) retrier: Option<TokenStream>,
    /// A path or closure that says of an error whether another attempt is worth it.
    pub(crate) when: Option<TokenStream>,
}

impl Parse for RetrySettings {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut settings = Self::default();
        for setting in Punctuated::<MetaNameValue, Token![,]>::parse_terminated(input)? {
            let name = setting.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let (place, value) = match name.as_str() {
                "policy" => (&mut settings.policy, policy(&setting.value)?),
                "retrier" => (&mut settings.retrier, plain(&setting.value)),
                "when" => (&mut settings.when, plain(&setting.value)),
                _ => {
                    let known = "expected `policy`, `retrier` or `when`";
                    return Err(syn::Error::new_spanned(setting.path, known));
                }
            };
            if place.replace(value).is_some() {
                return Err(syn::Error::new_spanned(
                    setting.path,
                    format!("`{name}` is set twice"),
                ));
            }
        }
        if settings.policy.is_some() && settings.retrier.is_some() {
            return Err(input.error("a `retrier` has a policy of its own: leave out `policy`"));
        }
        Ok(settings)
    }
}

fn plain(value: &Expr) -> TokenStream {
    quote!(#value)
}

/// A name of a ready policy, or an expression.
fn policy(value: &Expr) -> syn::Result<TokenStream> {
    let Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) = value else { return Ok(plain(value)) };
    let written = name.value().replace('-', "_");
    let Some((_, function)) = PRESETS.iter().find(|(name, _)| *name == written) else {
        let names = PRESETS.map(|(name, _)| name).join(", ");
        return Err(syn::Error::new_spanned(name, format!("a ready policy is one of {names}")));
    };
    let function = syn::Ident::new(function, name.span());
    Ok(quote!(::stagger::Policy::#function()))
}
