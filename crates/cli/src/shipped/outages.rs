//! Outages that happened, as scenario files that ship: each is played by its name.

/// Their names, lines for the list and texts, the latest first.
pub(super) const OUTAGES: [(&str, &str, &str); 6] = [
    (
        "github-2026-08",
        "GitHub: late replies set off a client loop behind a gateway that retries",
        include_str!("../../scenarios/github-2026-08.toml"),
    ),
    (
        "aws-2025-10",
        "AWS us-east-1: more leases due at once than are renewed before they time out",
        include_str!("../../scenarios/aws-2025-10.toml"),
    ),
    (
        "cloudflare-2025-09",
        "Cloudflare: a dashboard that calls many times a render, and retries, meets a restart",
        include_str!("../../scenarios/cloudflare-2025-09.toml"),
    ),
    (
        "gcp-2025-06",
        "Google Cloud: restarted tasks read their policies at once, without jitter",
        include_str!("../../scenarios/gcp-2025-06.toml"),
    ),
    (
        "openai-2024-12",
        "OpenAI: every node of a large cluster asks the Kubernetes API at once",
        include_str!("../../scenarios/openai-2024-12.toml"),
    ),
    (
        "aws-retry-2026",
        "The retry defaults of the AWS SDKs until 2026 and since, beside each other",
        include_str!("../../scenarios/aws-retry-2026.toml"),
    ),
];
