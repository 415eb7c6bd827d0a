//! A copy of the ledger in one file of its own, while others go on writing.

use std::path::Path;

use super::{Ledger, LedgerError, error, sql};

impl Ledger {
    /// Writes the ledger as of one moment into a new file: whole, packed tightly, without a journal beside it. Errors when the file is
    /// there already. <https://www.sqlite.org/lang_vacuum.html#vacuuminto>
    pub async fn copy_into(&self, file: &Path) -> Result<(), LedgerError> {
        let Some(text) = file.to_str() else {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path is not UTF-8");
            return Err(LedgerError::Folder { folder: file.into(), what: "a copy of the ledger cannot be made there", source });
        };
        let copied = sqlx::query(sql::COPY_INTO).bind(text).execute(&self.reader).await;
        copied.map(|_| ()).map_err(|failed| error::sorted(file, &failed))
    }
}
