//! The birth of a child, from a plan to a running program.
//!
//! The standard library starts a child cheaply only if nothing has to be done between birth and program;
//! entering a directory by handle, sealing descriptors and dying with the parent all have to. A plain
//! fork costs as much as the parent is large. So the child is born sharing our memory while our thread
//! stands still, does a handful of system calls on data prepared before, and turns into the program.
//!
//! The order in the child, and why:
//! 1. signal handlers go back to their defaults, while all signals are still blocked: a handler of ours
//!    must never run in a child that shares our memory;
//! 2. the death signal is set, then the parent is compared: a parent that died before would not be seen;
//! 3. group or session, so that the program cannot fork before it can be found;
//! 4. directory, by handle;
//! 5. descriptors 0, 1, 2, the controlling terminal where one is wanted, then everything above is marked to close: only copies made here pass;
//! 6. signals are unblocked, since a mask survives into the program;
//! 7. the program.
//!
//! Not here: waiting, reading, killing.

#![expect(unsafe_code, reason = "a child between birth and program is beyond the safe wrappers")]

use std::{
    ffi::{CString, c_char, c_int, c_void},
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    ptr,
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// What the child does between birth and program. All of it is prepared before.
#[derive(Debug)]
pub(crate) struct Birth<'a> {
    pub(crate) program: &'a CString,
    pub(crate) argv: &'a [CString],
    pub(crate) envp: &'a [CString],
    pub(crate) cwd: BorrowedFd<'a>,
    pub(crate) stdio: [BorrowedFd<'a>; 3],
    pub(crate) ties: Ties,
}

/// How the child is tied to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ties {
    /// In a group of its own, killed when the starting thread ends.
    Thread,
    /// Leader of a session that its first stream controls, killed when the starting thread ends.
    Terminal,
    /// In a group of its own.
    Group,
    /// In a session of its own.
    None,
}

/// The step that failed between birth and program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Descriptors,
    Birth,
    Group,
    Terminal,
    Directory,
    Program,
}

/// A child that was not born, or not into its program.
#[derive(Debug)]
pub(crate) struct Stillborn {
    pub(crate) step: Step,
    pub(crate) source: io::Error,
}

/// A live child nobody waited for yet.
#[derive(Debug)]
pub(crate) struct Born {
    pub(crate) pid: u32,
    pub(crate) pidfd: OwnedFd,
}

/// Room for the child's stack. It calls only thin wrappers of system calls.
const STACK_WORDS: usize = 64 * 1024 / 16;

/// What the child reads, and the one place where it writes.
struct Setup {
    program: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    cwd: c_int,
    stdio: [c_int; 3],
    ties: Ties,
    parent: c_int,
    failed: Option<(Step, c_int)>,
}

/// Starts a child and returns once it has become its program.
pub(crate) fn give_birth(birth: &Birth<'_>) -> Result<Born, Stillborn> {
    let failed = |step| move |source| Stillborn { step, source };
    // Sources below 3 could be overwritten before they are copied; ours are moved out of the way.
    let raised: Vec<OwnedFd> = birth
        .stdio
        .iter()
        .map(|fd| rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(io::Error::from))
        .collect::<io::Result<_>>()
        .map_err(failed(Step::Descriptors))?;
    let mut stdio = [-1; 3];
    for (to, from) in stdio.iter_mut().zip(&raised) {
        *to = from.as_raw_fd();
    }
    let argv = pointers(birth.argv);
    let envp = pointers(birth.envp);
    let mut setup = Setup {
        program: birth.program.as_ptr(),
        argv: argv.as_ptr(),
        envp: envp.as_ptr(),
        cwd: birth.cwd.as_raw_fd(),
        stdio,
        ties: birth.ties,
        parent: rustix::process::getpid().as_raw_nonzero().get(),
        failed: None,
    };
    let pid = clone_into(&mut setup).map_err(failed(Step::Birth))?;
    if let Some((step, errno)) = setup.failed {
        wait_for(pid).ok();
        return Err(Stillborn { step, source: io::Error::from_raw_os_error(errno) });
    }
    // Nobody has waited for it, so the number is still its own, dead or alive.
    let handle = Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH);
    match handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Ok(pidfd) => Ok(Born { pid: pid.unsigned_abs(), pidfd }),
        Err(errno) => {
            // SAFETY: a plain call with a pid that is still our unwaited child.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            wait_for(pid).ok();
            Err(Stillborn { step: Step::Descriptors, source: errno.into() })
        }
    }
}

/// Returns the pointers of an argument vector, ended as the kernel wants it.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Blocks all signals, runs the child in our memory until it became its program, unblocks them.
fn clone_into(setup: &mut Setup) -> io::Result<c_int> {
    let mut stack = Box::<[u128]>::new_uninit_slice(STACK_WORDS);
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: fills the set it is given.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled above; `before` is written by the call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let argument = ptr::from_mut(setup).cast::<c_void>();
    // SAFETY: the stack is 64 KiB, aligned to 16 and alive until the child left our memory, which is
    // when this call returns (CLONE_VFORK). `child` touches `setup` alone, which nobody else does.
    let pid = unsafe { libc::clone(child, top, flags, argument) };
    let error = io::Error::last_os_error();
    // SAFETY: `before` was written when the mask was set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    if pid < 0 { Err(error) } else { Ok(pid) }
}

/// Runs in the child, in our memory: system calls only, no allocation, no lock, no unwinding.
extern "C" fn child(argument: *mut c_void) -> c_int {
    // SAFETY: the pointer is the `Setup` of `clone_into`, whose thread stands still meanwhile.
    let setup = unsafe { &mut *argument.cast::<Setup>() };
    let step = become_program(setup);
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    setup.failed = Some((step, errno));
    // SAFETY: ends the child without running anything of ours.
    unsafe { libc::_exit(127) }
}

/// Returns the step that failed; returns at all only then.
fn become_program(setup: &Setup) -> Step {
    for signal in 1..=64 {
        // SAFETY: numbers that cannot be set are refused by the call; the rest go to their default.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    if matches!(setup.ties, Ties::Thread | Ties::Terminal) {
        // SAFETY: plain integers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // SAFETY: no arguments.
        if unsafe { libc::getppid() } != setup.parent {
            return Step::Birth;
        }
    }
    let grouped = match setup.ties {
        // SAFETY: plain integers.
        Ties::Thread | Ties::Group => unsafe { libc::setpgid(0, 0) },
        // SAFETY: no arguments.
        Ties::None | Ties::Terminal => unsafe { libc::setsid() },
    };
    if grouped < 0 {
        return Step::Group;
    }
    // SAFETY: an open descriptor.
    if unsafe { libc::fchdir(setup.cwd) } < 0 {
        return Step::Directory;
    }
    for (to, from) in (0..).zip(setup.stdio) {
        // SAFETY: open descriptors above 2; the copy is not closed on exec.
        if unsafe { libc::dup2(from, to) } < 0 {
            return Step::Descriptors;
        }
    }
    // SAFETY: plain integers; the descriptor was just copied there.
    if setup.ties == Ties::Terminal && unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
        return Step::Terminal;
    }
    // A kernel without the call leaves what is marked already, which is all that Rust opens.
    close_on_exec_from(3).ok();
    unblock_and_exec(setup)
}

/// The last two steps.
fn unblock_and_exec(setup: &Setup) -> Step {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: fills the set it is given.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: `none` was filled above.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) };
    // SAFETY: the three point to what `give_birth` keeps alive, ended by null.
    unsafe { libc::execve(setup.program, setup.argv, setup.envp) };
    Step::Program
}

/// Marks every descriptor from `first` on as closed on exec.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: plain integers; the call changes flags of this process's descriptors only.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What a dead child left in the kernel's books.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    /// The exit code, or none.
    pub(crate) code: Option<i32>,
    /// The signal it died of, or none.
    pub(crate) signal: Option<i32>,
    pub(crate) cpu: std::time::Duration,
}

/// Waits for a child that is already dead or about to be, by its pid.
pub(crate) fn wait_for(pid: c_int) -> io::Result<Waited> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live memory that the call fills.
        let got = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if got == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeroed memory is a valid `rusage`, and the call filled it.
    let usage = unsafe { usage.assume_init() };
    Ok(Waited {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
    })
}

fn duration(time: libc::timeval) -> std::time::Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    std::time::Duration::from_secs(seconds)
        + std::time::Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}
