//! What is refused. That it works is seen where a host goes on as another build.

use std::{
    io::Write as _,
    os::fd::{AsFd as _, IntoRawFd as _},
    path::Path,
};

use super::*;

#[test]
fn what_cannot_be_become_changes_nothing() {
    let mut text = tempfile::NamedTempFile::new().unwrap();
    text.write_all(b"no program").unwrap();
    // Nobody may become what somebody is still writing.
    let text = text.into_temp_path();
    let program = open_program(&text).unwrap();
    let (kept, _) = io::pipe().unwrap();
    let error = replace(&program, &["word".into()], &[kept.as_fd()]);
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    assert!(fcntl_getfd(&kept).unwrap().contains(FdFlags::CLOEXEC));
    rustix::fs::chmod(&*text, 0o700.into()).unwrap();
    let error = replace(&program, &[], &[kept.as_fd()]);
    assert_eq!(error.raw_os_error(), Some(libc::ENOEXEC), "{error}");
    assert_eq!(replace(&program, &["a\0b".into()], &[]).kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn programs_that_others_may_change_are_refused() {
    let refused = |path: &Path| open_program(path).unwrap_err().kind();
    assert_eq!(refused(Path::new("/")), io::ErrorKind::PermissionDenied);
    assert_eq!(refused(Path::new("/dev/null")), io::ErrorKind::PermissionDenied);
    assert_eq!(refused(Path::new("/nowhere")), io::ErrorKind::NotFound);
    let file = tempfile::NamedTempFile::new().unwrap();
    rustix::fs::chmod(file.path(), 0o777.into()).unwrap();
    assert_eq!(refused(file.path()), io::ErrorKind::PermissionDenied);
    rustix::fs::chmod(file.path(), 0o775.into()).unwrap();
    assert!(open_program(file.path()).is_ok());
}

#[test]
fn numbers_that_are_no_descriptors_are_refused() {
    for numbers in [&[0][..], &[2], &[-1], &[1_000_000], &[1_000_000, 1_000_000]] {
        assert!(inherited(numbers).is_err(), "{numbers:?}");
    }
    let (one, two) = io::pipe().unwrap();
    let numbers = [OwnedFd::from(one).into_raw_fd(), OwnedFd::from(two).into_raw_fd()];
    let fds = inherited(&numbers).unwrap();
    assert_eq!(fds.iter().map(|fd| fd.as_raw_fd()).collect::<Vec<_>>(), numbers);
    assert!(fcntl_getfd(&fds[0]).unwrap().contains(FdFlags::CLOEXEC));
}
