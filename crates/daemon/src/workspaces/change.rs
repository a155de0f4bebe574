//! Which places there are, and what becomes of one that is added, attached, detached or removed.
//!
//! What is added is opened first, so that what is kept was found good once.

use vocab::limits::WORKSPACE_NAME_BYTES_MAX;

use super::{
    Arc, Directory, Failure, Link, Place, Registered, Slot, Source, Workspaces, close_slot,
};

/// A place and how it is reached at present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The place.
    pub registered: Registered,
    /// How it is reached.
    pub link: Link,
    /// What is served as its root, as far as that is known.
    pub root: Option<String>,
}

impl Workspaces {
    /// Lists all registered places.
    ///
    /// # Errors
    /// When the configuration or the list of what was added cannot be read.
    pub async fn list(&self) -> Result<Vec<Listed>, Failure> {
        let mut all = Vec::new();
        for registered in self.registered()? {
            all.push(self.look(registered).await);
        }
        Ok(all)
    }

    async fn look(&self, registered: Registered) -> Listed {
        let key = match registered.local() {
            Some(path) => super::directory(path).await,
            None => Directory::Far(registered.name.clone()),
        };
        let slot = self.lock().get(&key).map(Arc::clone);
        let found = slot.as_ref().and_then(|slot| slot.owned.get());
        let root = found.map(|owned| owned.borrow().root());
        let link = match (found, &registered.place) {
            (Some(owned), _) => owned.link(),
            (None, Place::Deferred { address: None, .. }) => Link::Detached,
            (None, _) => Link::Closed,
        };
        let known = match &registered.place {
            Place::Local { path } => Some(path.clone()),
            Place::Ssh { root, .. } => Some(root.clone()),
            Place::Deferred { expected_root, .. } => Some(expected_root.clone()),
            Place::Remote { .. } => None,
        };
        Listed { registered, link, root: root.or(known) }
    }

    /// Adds a place once it was opened. One without a runtime is added as it is.
    ///
    /// # Errors
    /// When the name is none or taken, or it cannot be opened; nothing is added then.
    pub async fn add(&self, name: &str, place: Place) -> Result<Listed, Failure> {
        let _changing = self.changing.lock().await;
        check_name(name)?;
        if self.registered()?.iter().any(|known| known.name == name) {
            let why = format!("there is a workspace named {name} already");
            return Err(Failure::not_started("workspace_exists", why)
                .with_hint(format!("another name, or: stead workspace rm {name}")));
        }
        let registered = Registered { name: name.to_owned(), place, source: Source::Added };
        self.open_and_put(registered).await
    }

    /// Attaches a runtime to a place that was added without one, or in the stead of the one it has.
    ///
    /// # Errors
    /// When there is no such place, it is in use, or the runtime serves something else; all is as it was then.
    pub async fn attach(
        &self,
        name: &str,
        address: String,
        ca: Option<String>,
    ) -> Result<Listed, Failure> {
        let _changing = self.changing.lock().await;
        let expected_root = self.deferred(name)?;
        self.let_go(name).await?;
        let place = Place::Deferred { expected_root, address: Some(address), ca };
        let registered = Registered { name: name.to_owned(), place, source: Source::Added };
        self.open_and_put(registered).await
    }

    /// Lets the runtime of a place go that was attached.
    ///
    /// # Errors
    /// When there is no such place, or it is in use.
    pub async fn detach(&self, name: &str) -> Result<Listed, Failure> {
        let _changing = self.changing.lock().await;
        let expected_root = self.deferred(name)?;
        self.let_go(name).await?;
        let place = Place::Deferred { expected_root, address: None, ca: None };
        let registered = Registered { name: name.to_owned(), place, source: Source::Added };
        self.book.put(&registered)?;
        Ok(self.look(registered).await)
    }

    /// Removes a place that was added. What it stands for stays as it is.
    ///
    /// # Errors
    /// When there is no such place, it is the configuration's, or it is in use.
    pub async fn remove(&self, name: &str) -> Result<(), Failure> {
        let _changing = self.changing.lock().await;
        let registered = self.find(name)?;
        if registered.source == Source::Config {
            let why = format!("{name} is a workspace of the configuration");
            return Err(Failure::not_started("forbidden", why)
                .with_hint(format!("remove [workspaces.{name}] there")));
        }
        if registered.local().is_none() {
            self.let_go(name).await?;
        }
        self.book.remove(name)
    }

    /// Opens what may be opened, and keeps it if that went well.
    async fn open_and_put(&self, registered: Registered) -> Result<Listed, Failure> {
        let name = registered.name.clone();
        match (&registered.place, registered.local()) {
            (_, Some(path)) => drop(self.at(path).await?),
            (Place::Deferred { address: None, .. }, None) => {}
            (_, None) => {
                let candidate = registered.clone();
                let open = || self.openings.open_far(candidate);
                drop(self.lease(Directory::Far(name.clone()), open).await?);
            }
        }
        if let Err(failure) = self.book.put(&registered) {
            self.let_go(&name).await.ok();
            return Err(failure);
        }
        Ok(self.look(registered).await)
    }

    fn deferred(&self, name: &str) -> Result<String, Failure> {
        match self.find(name)?.place {
            Place::Deferred { expected_root, .. } => Ok(expected_root),
            Place::Local { .. } | Place::Remote { .. } | Place::Ssh { .. } => {
                let why = format!("{name} has its place for good");
                Err(Failure::not_started("workspace_not_deferred", why)
                    .with_hint("only those added with --deferred are attached and detached"))
            }
        }
    }

    /// Closes what a name stands for, unless somebody uses it, and waits for that.
    async fn let_go(&self, name: &str) -> Result<(), Failure> {
        let key = Directory::Far(name.to_owned());
        let slot = {
            let mut open = self.lock();
            if open.get(&key).is_some_and(|slot| !Slot::is_idle(slot)) {
                let why = format!("{name} is in use");
                return Err(Failure::not_started("workspace_in_use", why)
                    .with_hint("stop the runs there first: stead ls"));
            }
            open.remove(&key)
        };
        if let Some(slot) = slot {
            close_slot(slot).await;
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), Failure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = (1..=WORKSPACE_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with(['.', '-']);
    if is_name {
        return Ok(());
    }
    let why = format!(
        "a workspace's name has 1 to {WORKSPACE_NAME_BYTES_MAX} letters, digits, '-', '_' and '.'"
    );
    Err(Failure::not_started("invalid_field", why))
}
