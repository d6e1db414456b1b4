//! The portal's own files: below its own path, so that a proxy may serve `/portal` and nothing else.

use bytes::Bytes;

use crate::config::PortalSettings;
use crate::ui::asset::{Asset, Assets};

/// The path of the files.
pub(super) const FOLDER: &str = "/portal/assets/";

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// The files that the pages name.
#[derive(Debug)]
pub(super) struct PortalAssets {
    pub(super) style: Asset,
    pub(super) portal_style: Asset,
    /// The colours that were configured.
    pub(super) theme: Asset,
    pub(super) icon: Asset,
    pub(super) page: Asset,
    pub(super) htmx: Asset,
    /// Opens the portal with the link in the address.
    pub(super) open: Asset,
}

impl PortalAssets {
    pub(super) fn new(settings: &PortalSettings) -> Self {
        let shared = Assets::get();
        let own = |stem, end, kind, bytes| {
            Asset::within(FOLDER, (stem, end), kind, Bytes::from_static(bytes))
        };
        Self {
            style: shared.style.moved(FOLDER),
            portal_style: own("portal", "css", CSS, include_bytes!("../../../assets/portal.css")),
            theme: Asset::within(FOLDER, ("theme", "css"), CSS, theme(settings).into()),
            icon: shared.icon.moved(FOLDER),
            page: shared.page.moved(FOLDER),
            htmx: shared.htmx.moved(FOLDER),
            open: own("open", "js", JS, include_bytes!("../../../assets/open.js")),
        }
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Asset> {
        let Self { style, portal_style, theme, icon, page, htmx, open } = self;
        let all = [style, portal_style, theme, icon, page, htmx, open];
        all.into_iter().find(|asset| asset.path.strip_prefix(FOLDER) == Some(name))
    }
}

/// The colours as styles: digits of our own writing only.
fn theme(settings: &PortalSettings) -> String {
    let Some(accent) = settings.accent else { return "/* No accent is set. */\n".into() };
    let (light, dark) = (accent.on_light(), accent.on_dark());
    format!(
        ":root {{ --accent: {light}; --on-accent: #ffffff; }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{ --accent: {dark}; --on-accent: #14161a; }} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_has_the_accent_for_light_and_dark() {
        let accent = Some("#ffd400".parse().expect("a colour"));
        let text = theme(&PortalSettings { accent, ..PortalSettings::default() });
        assert!(text.contains("--accent: #ffd400; --on-accent: #14161a"), "{text}");
        assert!(!text.contains("--accent: #ffd400; --on-accent: #ffffff"), "{text}");
        let plain = PortalAssets::new(&PortalSettings::default());
        let themed = PortalAssets::new(&PortalSettings { accent, ..PortalSettings::default() });
        assert_ne!(plain.theme.path, themed.theme.path, "a browser keeps the old one for ever");
        assert!(plain.by_name(plain.page.path.strip_prefix(FOLDER).expect("ours")).is_some());
    }
}
