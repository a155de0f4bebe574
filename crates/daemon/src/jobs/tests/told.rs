//! Facts about jobs, while the store's disk is full.

use testkit::faulty_vfs::{Fault, register};

use super::*;

#[tokio::test]
async fn what_happened_on_a_full_disk_is_told_in_order_once_there_is_room() {
    let layer = register("told-late", None);
    let rig = Rig { vfs: Some(layer.name.to_owned()), ..Rig::new() };
    let mut life = rig.begin().await;
    let row = life.run("read x; exit 3").await;
    life.fact("job_started", &row.id).await;
    layer.disk().fail_from_now(Fault::FullFromThere);
    life.jobs.rename(&person(), &id(&row), "late").await.unwrap();
    life.jobs.send(&person(), &id(&row), "x\r".into()).await.unwrap();
    while life.jobs.row(&id(&row)).await.unwrap().ended_at.is_none() {
        tokio::task::yield_now().await;
    }
    // Whoever ends what has ended waits until that is written down.
    life.jobs.stop(&person(), &id(&row)).await.unwrap();
    layer.disk().heal();
    // Nothing else happens, and whoever waits for the end is told all the same.
    life.fact("job_edited", &row.id).await;
    assert_eq!(life.fact("job_ended", &row.id).await["state"], "failed");
}

#[tokio::test]
async fn what_waits_for_the_store_is_stored_before_that_closes() {
    let layer = register("told-last", None);
    let rig = Rig { vfs: Some(layer.name.to_owned()), ..Rig::new() };
    let life = rig.begin().await;
    layer.disk().fail_from_now(Fault::FullFromThere);
    let job = JobId::generate();
    life.jobs.tell(JobFact::JobEdited { job: job.clone() }).await;
    layer.disk().heal();
    life.jobs.tell_the_rest().await;
    let facts = life.store.facts_after(None, 100).await.unwrap();
    assert!(facts.iter().any(|fact| fact.body["job"] == job.as_str()), "{facts:?}");
}

#[tokio::test]
async fn so_many_facts_wait_for_the_store_and_the_oldest_go_first() {
    let layer = register("told-many", None);
    let rig = Rig { vfs: Some(layer.name.to_owned()), ..Rig::new() };
    let mut life = rig.begin().await;
    layer.disk().fail_from_now(Fault::FullFromThere);
    let jobs: Vec<JobId> =
        std::iter::repeat_with(JobId::generate).take(limits::JOB_FACTS_UNSENT_MAX + 1).collect();
    for job in &jobs {
        life.jobs.tell(JobFact::JobEdited { job: job.clone() }).await;
    }
    layer.disk().heal();
    for job in jobs.get(1..).unwrap() {
        let event = tokio::time::timeout(PATIENCE, life.heard.next()).await.unwrap();
        assert_eq!(event.unwrap().unwrap().body["job"], job.as_str());
    }
    life.jobs.tell(JobFact::JobRemoved { job: jobs[0].clone() }).await;
    life.fact("job_removed", jobs[0].as_str()).await;
}

#[tokio::test]
async fn a_fact_that_was_not_stored_is_tried_again_after_a_while() {
    let layer = register("told-again", None);
    let rig = Rig { vfs: Some(layer.name.to_owned()), ..Rig::new() };
    let mut life = rig.begin().await;
    let row = life.run("sleep 1000").await;
    life.fact("job_started", &row.id).await;
    layer.disk().fail_from_now(Fault::FullFromThere);
    let before = tokio::time::Instant::now();
    life.jobs.rename(&person(), &id(&row), "late").await.unwrap();
    // There is room at once, and whoever waits for it does not look before it is time.
    layer.disk().heal();
    life.fact("job_edited", &row.id).await;
    assert!(Duration::from_millis(limits::JOB_FACTS_RETRY_MS) <= before.elapsed());
    life.jobs.end_all().await;
}
