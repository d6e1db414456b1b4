//! Outages that happened, as scenario files that ship: each is played by its name.

use super::shipped_scenario::ShippedScenario;

/// All of them, the latest first.
pub(super) const OUTAGES: [ShippedScenario; 6] = [
    ShippedScenario {
        name: "github-2026-08",
        about: "GitHub: late replies set off a client loop behind a gateway that retries",
        text: include_str!("../../scenarios/github-2026-08.toml"),
    },
    ShippedScenario {
        name: "aws-2025-10",
        about: "AWS us-east-1: more leases due at once than are renewed before they time out",
        text: include_str!("../../scenarios/aws-2025-10.toml"),
    },
    ShippedScenario {
        name: "cloudflare-2025-09",
        about: "Cloudflare: a dashboard that calls many times a render, and retries, meets a restart",
        text: include_str!("../../scenarios/cloudflare-2025-09.toml"),
    },
    ShippedScenario {
        name: "gcp-2025-06",
        about: "Google Cloud: restarted tasks read their policies at once, without jitter",
        text: include_str!("../../scenarios/gcp-2025-06.toml"),
    },
    ShippedScenario {
        name: "openai-2024-12",
        about: "OpenAI: every node of a large cluster asks the Kubernetes API at once",
        text: include_str!("../../scenarios/openai-2024-12.toml"),
    },
    ShippedScenario {
        name: "aws-retry-2026",
        about: "The retry defaults of the AWS SDKs until 2026 and since, beside each other",
        text: include_str!("../../scenarios/aws-retry-2026.toml"),
    },
];
