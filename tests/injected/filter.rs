//! System calls that fail, by a seccomp filter on this thread and all that it starts from then on.

use std::{collections::BTreeMap, env::consts::ARCH};

use nix::{errno::Errno, libc};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

/// New threads fail for want of resources; new processes do not. False where the system has no
/// filters.
#[must_use]
pub fn refuse_threads() -> bool {
    let flag = libc::CLONE_THREAD as u64;
    let is_thread = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag);
    let thread = is_thread.and_then(|is_thread| SeccompRule::new(vec![is_thread])).expect("a valid rule");
    // A filter cannot read the flags of `clone3`, which are in memory. A system without it is asked
    // by `clone`.
    refuse(libc::SYS_clone3, vec![], Errno::ENOSYS) && refuse(libc::SYS_clone, vec![thread], Errno::EAGAIN)
}

/// Threads cannot be kept to cores. False where the system has no filters.
#[must_use]
pub fn refuse_affinity(errno: Errno) -> bool {
    refuse(libc::SYS_sched_setaffinity, vec![], errno)
}

/// The system does not tell on which cores a thread may run. False where it has no filters.
#[must_use]
pub fn refuse_to_tell_cores() -> bool {
    refuse(libc::SYS_sched_getaffinity, vec![], Errno::EPERM)
}

/// Calls of `number` that match one of the rules, or all if there is none, fail with `errno`.
fn refuse(number: i64, rules: Vec<SeccompRule>, errno: Errno) -> bool {
    let Ok(arch) = ARCH.try_into() else { return false };
    let refused = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(BTreeMap::from([(number, rules)]), SeccompAction::Allow, refused, arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).expect("a valid filter");
    apply_filter(&program).is_ok()
}
