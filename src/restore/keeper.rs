//! Our end of the pipe to `internal hold`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::hold::{Order, Said, StartOrder};
use super::sandbox::Sandbox;
use super::trouble::Trouble;

/// How long the keeper may take to answer; stopping is longer, since it waits for PostgreSQL.
const ANSWER: Duration = Duration::from_secs(15);

/// How a postmaster ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostmasterEnd {
    /// Whether it ran at all when it was asked to stop.
    pub ran: bool,
    /// In words.
    pub status: String,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// A keeper that holds one sandbox. When this is dropped the pipe closes, and the keeper removes the sandbox.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    orders: Option<ChildStdin>,
    said: Lines<BufReader<ChildStdout>>,
    ended: Option<PostmasterEnd>,
}

impl Keeper {
    /// Starts `internal hold` on a sandbox that bears our marker.
    pub async fn start(executable: &Path, sandbox: &Sandbox) -> Result<Self, Trouble> {
        let mut command = Command::new(executable);
        command.args(["internal", "hold"]).arg(sandbox.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A group of its own: Ctrl-C at the terminal is for us, we tell the keeper.
        command.process_group(0).env_clear().current_dir(sandbox.folder());
        let hint = "check that the program file of dalsegno can be executed";
        let mut child = command.spawn().map_err(|error| {
            Trouble::could_not(format!("could not start {} internal hold: {error}", executable.display()), hint)
        })?;
        let orders = child.stdin.take();
        let Some(out) = child.stdout.take() else {
            return Err(Trouble::could_not("could not start internal hold: no pipe", hint));
        };
        let mut keeper = Self { child, orders, said: BufReader::new(out).lines(), ended: None };
        match keeper.hear(ANSWER).await? {
            Said::Holding { .. } => Ok(keeper),
            other => Err(Trouble::could_not(format!("internal hold does not hold the sandbox: {other:?}"), hint)),
        }
    }

    /// Starts the postmaster; its pid.
    pub async fn start_postgres(&mut self, order: StartOrder) -> Result<i32, Trouble> {
        self.ended = None;
        self.tell(&Order::Start(order)).await?;
        loop {
            match self.hear(ANSWER).await? {
                Said::Started { pid } => return Ok(pid),
                Said::Ended { .. } => {}
                Said::Failed { why } => {
                    return Err(Trouble::could_not(format!("could not start PostgreSQL: {why}"), "look at the system's log"));
                }
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// How the postmaster ended, if it did. Waits a moment for news and no longer.
    pub async fn ended(&mut self, patience: Duration) -> Result<Option<PostmasterEnd>, Trouble> {
        if self.ended.is_none() {
            // `next_line` keeps what it has read when it is dropped.
            match tokio::time::timeout(patience, self.said.next_line()).await {
                Err(_) => {}
                Ok(Ok(Some(line))) => {
                    if let Ok(Said::Ended { ran, status, signal }) = serde_json::from_str(&line) {
                        self.ended = Some(PostmasterEnd { ran, status, signal });
                    }
                }
                Ok(_) => return Err(lost()),
            }
        }
        Ok(self.ended.clone())
    }

    /// Stops the postmaster; the sandbox stays.
    pub async fn stop_postgres(&mut self) -> Result<PostmasterEnd, Trouble> {
        if let Some(end) = self.ended.clone() {
            return Ok(end);
        }
        self.tell(&Order::Stop).await?;
        loop {
            match self.hear(ANSWER).await? {
                Said::Ended { ran, status, signal } => {
                    let end = PostmasterEnd { ran, status, signal };
                    self.ended = Some(end.clone());
                    return Ok(end);
                }
                Said::Failed { why } => return Err(Trouble::could_not(why, "run `dalsegno drill gc`")),
                _ => {}
            }
        }
    }

    /// Stops everything, removes the sandbox, ends the keeper. Comes back when it is gone.
    pub async fn remove(mut self) -> Result<(), Trouble> {
        let told = self.tell(&Order::Remove).await;
        self.orders = None;
        let waited = tokio::time::timeout(ANSWER, self.child.wait()).await;
        told?;
        match waited {
            Ok(Ok(_)) => Ok(()),
            _ => Err(Trouble::could_not("internal hold does not end", "run `dalsegno drill gc`")),
        }
    }

    async fn tell(&mut self, order: &Order) -> Result<(), Trouble> {
        let mut line =
            serde_json::to_vec(order).map_err(|error| Trouble::could_not(error.to_string(), "report this as a bug"))?;
        line.push(b'\n');
        let Some(orders) = &mut self.orders else {
            return Err(lost());
        };
        orders.write_all(&line).await.map_err(|_| lost())?;
        orders.flush().await.map_err(|_| lost())
    }

    async fn hear(&mut self, patience: Duration) -> Result<Said, Trouble> {
        let line = tokio::time::timeout(patience, self.said.next_line()).await;
        match line {
            Ok(Ok(Some(line))) => serde_json::from_str(&line)
                .map_err(|error| Trouble::could_not(format!("internal hold: {error}"), "report this as a bug")),
            Ok(_) => Err(lost()),
            Err(_) => Err(Trouble::could_not("internal hold gives no answer", "run the drill again")),
        }
    }
}

fn lost() -> Trouble {
    Trouble::could_not(
        "the process that holds the sandbox (internal hold) was killed",
        "run the drill again; `dalsegno drill gc` removes what is left",
    )
}

fn unexpected(said: &Said) -> Trouble {
    Trouble::could_not(format!("internal hold answered something else: {said:?}"), "report this as a bug")
}
