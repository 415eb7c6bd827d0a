//! The migrations, compiled in.

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, name and text of every migration, oldest first. A released one is never changed.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "ledger", include_str!("../../migrations/0001_ledger.sql")),
    (2, "alerts", include_str!("../../migrations/0002_alerts.sql")),
];

/// `application_id` of our files: 0x64617367, "dasg".
pub(super) const APPLICATION_ID: i64 = 0x6461_7367;

/// The newest schema that this program knows.
pub(super) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, _, _)| *version)
}

/// All migrations, ready to run.
pub(super) fn migrator() -> Migrator {
    Migrator::with_migrations(
        MIGRATIONS
            .iter()
            .map(|(version, name, text)| {
                Migration::new(*version, (*name).into(), MigrationType::Simple, text.into_sql_str(), false)
            })
            .collect(),
    )
}
