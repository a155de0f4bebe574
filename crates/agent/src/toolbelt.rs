//! All tools of a run under one roof: sources merged, names unique, one look at a time.
//!
//! It decides nothing about approvals and keeps nothing between calls besides its last look.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use provider::prompt::PromptTool;
use serde_json::Value;
use vocab::{
    ids::{CallId, RunId},
    outcome::{Effect, Outcome},
    tool::ToolSpec,
};
use workspace::{
    call::{Call, CallContext, Envelope},
    catalog::Catalog,
    source::ToolSource,
};

use crate::check;

/// A tool with what proves to its source that both mean the same one.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The tool.
    pub spec: Arc<ToolSpec>,
    /// Its arguments, as JSON schema.
    pub parameters: Value,
    /// The hash of its name and schema.
    pub hash: String,
    generation: u64,
    source: usize,
}

/// The tools of one look; a change in a source makes the next one.
#[derive(Debug, Clone, Default)]
pub struct Kit {
    tools: Vec<Tool>,
    told: Arc<[PromptTool]>,
    generations: Vec<u64>,
}

impl Kit {
    fn of(catalogs: &[Arc<Catalog>], generations: Vec<u64>) -> Self {
        let mut kit = Self { generations, ..Self::default() };
        let all = catalogs.iter().enumerate().flat_map(|(source, catalog)| {
            catalog.tools().iter().map(move |spec| (source, catalog.generation, spec))
        });
        for (source, generation, spec) in all {
            if kit.find(spec.name).is_some() {
                continue;
            }
            kit.tools.push(Tool {
                spec: spec.clone(),
                parameters: spec.json_schema(),
                hash: spec.schema_hash(),
                generation,
                source,
            });
        }
        let told = |tool: &Tool| PromptTool {
            name: tool.spec.name.to_owned(),
            description: tool.spec.description.to_owned(),
            parameters: tool.parameters.clone(),
        };
        kit.told = kit.tools.iter().map(told).collect();
        kit
    }

    /// Returns the tools as models are told of them: the same for every prompt of one look.
    #[must_use]
    pub fn told(&self) -> Arc<[PromptTool]> {
        self.told.clone()
    }

    /// Returns the tools, in the order in which models are told of them.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Returns the tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Returns all names.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.spec.name).collect()
    }

    /// Returns the name that is most like `name`, if one is at all.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        let name = crate::parts::beginning(name, 80).to_lowercase();
        let scored = self.tools.iter().map(|tool| {
            (strsim::jaro_winkler(&name, &tool.spec.name.to_lowercase()), tool.spec.name)
        });
        scored
            .filter(|(score, _)| *score > 0.7)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name)
    }
}

/// A call as a model asked for it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The run.
    pub run: RunId,
    /// The model's id for it.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The arguments as the model wrote them.
    pub input: Value,
    /// What the run wants of every call.
    pub envelope: Envelope,
}

/// Sources of tools; of two tools with one name the first stays.
pub struct Toolbelt {
    sources: Vec<Arc<dyn ToolSource>>,
    last: Mutex<Arc<Kit>>,
}

impl Toolbelt {
    /// Takes the sources, the most important one first.
    #[must_use]
    pub fn new(sources: Vec<Arc<dyn ToolSource>>) -> Self {
        Self { sources, last: Mutex::default() }
    }

    /// Looks at all sources.
    #[must_use]
    pub fn kit(&self) -> Arc<Kit> {
        let catalogs: Vec<_> = self.sources.iter().map(|source| source.catalog()).collect();
        let generations: Vec<u64> = catalogs.iter().map(|catalog| catalog.generation).collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.generations != generations {
            *last = Arc::new(Kit::of(&catalogs, generations));
        }
        last.clone()
    }

    /// Runs one call to its end. A call that came with an old look begins again once with a new one,
    /// because its source refused it before it started.
    pub fn call(
        self: &Arc<Self>,
        kit: &Kit,
        asked: Asked,
        context: CallContext,
    ) -> BoxFuture<'static, Outcome> {
        let first = self.begin(kit, &asked, context.clone());
        let belt = self.clone();
        Box::pin(async move {
            let outcome = first.await;
            let stale = outcome.failure.as_ref().is_some_and(|failure| {
                failure.code == "stale_generation" && failure.effect == Effect::NotStarted
            });
            if stale && !context.cancel.is_cancelled() {
                return belt.begin(&belt.kit(), &asked, context).await;
            }
            outcome
        })
    }

    fn begin(&self, kit: &Kit, asked: &Asked, context: CallContext) -> BoxFuture<'static, Outcome> {
        let sound = check::known(kit, &asked.tool)
            .and_then(|tool| check::fit(tool, &asked.input).map(|arguments| (tool, arguments)));
        let (tool, arguments) = match sound {
            Ok(sound) => sound,
            Err(failure) => return Box::pin(async { Outcome::failed(failure) }),
        };
        let call = Call {
            id: asked.call.clone(),
            run: asked.run.clone(),
            tool: asked.tool.clone(),
            arguments,
            expected_generation: tool.generation,
            schema_hash: tool.hash.clone(),
            timeout_ms: None,
            idempotency_key: Some(format!("{}/{}", asked.run, asked.call)),
            envelope: asked.envelope.clone(),
        };
        match self.sources.get(tool.source) {
            Some(source) => source.call(call, context),
            None => Box::pin(async {
                Outcome::failed(vocab::outcome::Failure::not_started(
                    "stale_generation",
                    "the source of this tool is gone",
                ))
            }),
        }
    }

    /// Ends everything that calls of this run left running, and says what that was.
    pub async fn end_run(&self, run: &RunId) -> Vec<String> {
        let mut ended = Vec::new();
        for source in &self.sources {
            ended.extend(source.end_run(run).await);
        }
        ended
    }
}

impl std::fmt::Debug for Toolbelt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolbelt").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}
