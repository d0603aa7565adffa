//! A full disk: a change that cannot be stored is not made, and no agent dies because of it. Uses a
//! small tmpfs, which requires root; otherwise the test is skipped with a message.

use crate::kit::{Doors, LONG, beat, client, set_run, start, view};
use crivello_coordinator::{STATE_FILE, stored_settings};
use crivello_proto::v1::{self, setting_edit::Change};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;
use tonic::Code;

/// A small file system, unmounted on drop.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn at(path: &'a Path) -> Option<Self> {
        let mount = ["-t", "tmpfs", "-o", "size=256k", "crivello-test"];
        let mounted = Command::new("mount").args(mount).arg(path).output();
        let done = mounted.is_ok_and(|output| output.status.success());
        if !done {
            // Written directly to stderr: the harness hides the output of passing tests.
            let _ = writeln!(std::io::stderr(), "SKIPPED: no tmpfs can be mounted");
        }
        done.then_some(Self(path))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).output();
    }
}

fn fill(path: &Path) {
    let mut file = fs::File::create(path).expect("created");
    while file.write_all(&[0x55; 512]).is_ok() {}
}

#[tokio::test]
async fn a_change_that_cannot_be_stored_does_not_happen() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let Some(_mounted) = Mounted::at(dir.path()) else { return };
    let data = dir.path().join("data");
    let coordinator = start(&data, LONG).await;
    let mut client = client(&coordinator).await;
    client.join(doors.join(1, "a")).await.unwrap();
    let ballast = dir.path().join("ballast");
    fill(&ballast);
    // The last page may have space for a few more.
    let mut n = 0;
    let (before, status) = loop {
        let before = view(&mut client).await;
        let run = [v1::RunState::Paused, v1::RunState::Running][n % 2];
        match set_run(&mut client, run).await {
            Ok(_) => n += 1,
            Err(status) => break (before, status),
        }
        assert!(n < 1_000, "the disk is not full");
    };
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("nothing was changed"), "{status}");
    assert!(status.message().contains("No space left"), "{status}");
    assert_eq!(view(&mut client).await, before, "a view that was not stored was published");
    beat(&mut client, 1, 1).await.unwrap();
    let status = client.join(doors.join(2, "b")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    fs::remove_file(&ballast).unwrap();
    let joined = client.join(doors.join(2, "b")).await.unwrap().into_inner();
    assert_eq!(joined.view.unwrap().epoch, before.epoch + 1);
    coordinator.stop().await.unwrap();

    let coordinator = start(&data, LONG).await;
    let mut client = self::client(&coordinator).await;
    let after = view(&mut client).await;
    assert_eq!((after.agents.len(), after.epoch), (2, before.epoch + 2));
    coordinator.stop().await.unwrap();
}

/// Needs no small file system: the temporary file cannot be created.
#[tokio::test]
async fn while_the_state_cannot_be_written_settings_stay_and_heartbeats_count() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    client.join(doors.join(1, "a")).await.unwrap();
    let obstacle = dir.path().join(format!("{STATE_FILE}.new"));
    fs::create_dir(&obstacle).unwrap();
    let change = Some(Change::Value("3s".to_owned()));
    let edits = vec![v1::SettingEdit { key: "politeness.delay".to_owned(), change }];
    let edit = v1::EditSettingsRequest { edits, known_revision: 1 };
    let status = client.edit_settings(edit.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("nothing was changed"), "{status}");
    let now = client.get_settings(v1::GetSettingsRequest {}).await.unwrap().into_inner();
    assert!(now.revision == 1 && !now.toml.contains("delay = \"3s\""), "{now:?}");
    assert_eq!(stored_settings(dir.path()).unwrap().unwrap().revision, 1);
    beat(&mut client, 1, 1).await.unwrap();
    fs::remove_dir(&obstacle).unwrap();
    let edited = client.edit_settings(edit).await.unwrap().into_inner().settings.unwrap();
    assert!(edited.revision == 2 && edited.toml.contains("delay = \"3s\""), "{edited:?}");
    assert_eq!(stored_settings(dir.path()).unwrap().unwrap().toml, edited.toml);
    coordinator.stop().await.unwrap();
}
