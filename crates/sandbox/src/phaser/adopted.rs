//! What is known of Phaser before the first program comes: its classes by their prototypes, and the
//! functions on which measuring rests.

use std::collections::HashMap;

use rquickjs::object::Filter;
use rquickjs::{Ctx, Object, Persistent, Result, Value};

use super::peek;
use crate::javascript::engine::place;

/// Classes whose functions must be as they were when the program has run.
const GUARDED: [&str; 8] = [
    "Game",
    "Core.TimeStep",
    "Core.Config",
    "DOM.RequestAnimationFrame",
    "Scenes.SceneManager",
    "Scenes.Systems",
    "Events.EventEmitter",
    "GameObjects.DisplayList",
];

/// Phaser as it was.
pub(super) struct Adopted {
    /// Names of classes of objects by the addresses of their prototypes.
    kinds: HashMap<usize, String>,
    /// Addresses of prototypes that are asked for by name.
    prototypes: HashMap<&'static str, usize>,
    guarded: Vec<Guarded>,
    /// The getter by which an object with a body of Matter's says where it is.
    matter: Option<usize>,
    /// Prototypes stay where they are as long as they are held.
    _held: Vec<Persistent<Object<'static>>>,
}

struct Guarded {
    class: &'static str,
    prototype: Persistent<Object<'static>>,
    functions: Vec<(String, usize)>,
}

impl Adopted {
    /// Looks at Phaser, before any program.
    pub(super) fn of<'js>(ctx: &Ctx<'js>) -> Result<Self> {
        let phaser: Object<'js> = ctx.globals().get("Phaser")?;
        let mut held = Vec::new();
        let mut kinds = HashMap::new();
        let objects: Object<'js> = phaser.get("GameObjects")?;
        for name in objects.keys::<String>() {
            let name = name?;
            if let Some(prototype) = prototype_of(&objects, &name) {
                kinds.insert(place(prototype.as_value()), name);
                held.push(Persistent::save(ctx, prototype));
            }
        }
        let mut prototypes = HashMap::new();
        let named = ["Physics.Arcade.Body", "Physics.Arcade.StaticBody"];
        for path in GUARDED.into_iter().chain(named) {
            if let Some(prototype) = class(&phaser, path) {
                prototypes.insert(path, place(prototype.as_value()));
                held.push(Persistent::save(ctx, prototype));
            }
        }
        let matter = matter_getter(&phaser).map(|getter| {
            let at = place(getter.as_value());
            held.push(Persistent::save(ctx, getter));
            at
        });
        let guard = |path| Some(Guarded::new(path, class(&phaser, path)?));
        let guarded = GUARDED.into_iter().filter_map(guard).collect();
        Ok(Self { kinds, prototypes, guarded, matter, _held: held })
    }

    /// The class of an object on display; `None` if it is no object of Phaser's.
    pub(super) fn kind(&self, object: &Object<'_>) -> Option<&str> {
        let mut looked_at = object.clone();
        for _ in 0..32 {
            if looked_at.as_value().is_proxy() {
                return None;
            }
            looked_at = looked_at.get_prototype()?;
            if let Some(kind) = self.kinds.get(&place(looked_at.as_value())) {
                return Some(kind);
            }
        }
        None
    }

    /// Whether an object is an instance of this very class.
    pub(super) fn is(&self, object: &Object<'_>, class: &str) -> bool {
        let prototype = self.prototypes.get(class);
        prototype.is_some() && prototype == peek::prototype(object).as_ref()
    }

    /// Whether an object is where its body of Matter's is.
    pub(super) fn follows_body(&self, object: &Object<'_>) -> bool {
        self.matter.is_some() && self.matter == peek::getter(object, "x")
    }

    /// A function of a guarded class that is no longer the one it was.
    pub(super) fn changed(&self, ctx: &Ctx<'_>) -> Option<String> {
        self.guarded.iter().find_map(|guarded| {
            let prototype = guarded.prototype.clone().restore(ctx).ok()?;
            let changed = |(name, was): &&(String, usize)| function(&prototype, name) != Some(*was);
            let (name, _) = guarded.functions.iter().find(changed)?;
            Some(format!("Phaser.{}.prototype.{name}", guarded.class))
        })
    }
}

impl Guarded {
    fn new(class: &'static str, prototype: Object<'_>) -> Self {
        let mut functions = Vec::new();
        let mut looked_at = Some(prototype.clone());
        while let Some(here) = looked_at {
            looked_at = here.get_prototype();
            // What all objects have is not Phaser's.
            if looked_at.is_some() {
                let names = here.own_keys::<String>(Filter::new().string()).flatten();
                let found = |name: String| function(&prototype, &name).map(|place| (name, place));
                functions.extend(names.filter_map(found));
            }
        }
        let ctx = prototype.ctx().clone();
        Self { class, prototype: Persistent::save(&ctx, prototype), functions }
    }
}

/// The address of a function, its own or inherited.
fn function(object: &Object<'_>, name: &str) -> Option<usize> {
    let found = peek::inherited(object, name).ok()??;
    found.is_function().then(|| place(&found))
}

fn matter_getter<'js>(phaser: &Object<'js>) -> Option<Object<'js>> {
    let mut here = phaser.clone();
    for name in ["Physics", "Matter", "Components", "Transform", "x", "get"] {
        here = here.get(name).ok()?;
    }
    Some(here)
}

fn class<'js>(phaser: &Object<'js>, path: &str) -> Option<Object<'js>> {
    let (spaces, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut space = phaser.clone();
    for part in spaces.split('.').filter(|part| !part.is_empty()) {
        space = space.get(part).ok()?;
    }
    prototype_of(&space, name)
}

fn prototype_of<'js>(space: &Object<'js>, name: &str) -> Option<Object<'js>> {
    let class: Value<'js> = space.get(name).ok()?;
    if !class.is_function() {
        return None;
    }
    class.as_object()?.get("prototype").ok()
}
