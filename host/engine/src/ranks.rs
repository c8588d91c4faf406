//! Being one of several processes of a run.

use std::process;

use signal_hook::low_level::exit;

use super::report;
use troupe_core::error::ExitCode;
use troupe_core::rank::Rank;
use troupe_trainer::ranks::{Ranks, RanksError};

/// Meet the others, if this process was started as one of several. All but rank 0 are quiet
/// from then on.
pub fn meet() -> anyhow::Result<Ranks> {
    let Some(rank) = Rank::from_environment()? else { return Ok(Ranks::alone()) };
    if rank.number > 0 {
        report::be_quiet(format!("rank {}", rank.number));
    }
    report::note(&format!("{} processes; this is rank 0, process {}", rank.world, process::id()));
    Ok(Ranks::meet(&rank, abandon)?)
}

/// The main thread may wait, deep in libtorch, for a rank that will not come.
fn abandon(lost: RanksError) {
    report::error(&lost.into());
    exit(ExitCode::Lost as i32);
}
