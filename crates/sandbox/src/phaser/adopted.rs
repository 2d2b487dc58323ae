//! What is known of Phaser before the first program comes: its classes by their prototypes, and the
//! functions on which measuring rests.

use std::collections::{BTreeSet, HashMap};

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

/// Objects of the language and of the page whose functions must be as they were too. What is added to them, such as a
/// method for arrays, is no concern.
const BUILT_IN: [&str; 16] = [
    "Array.prototype",
    "Date",
    "Date.prototype",
    "Function.prototype",
    "JSON",
    "Map.prototype",
    "Math",
    "Number.prototype",
    "Object",
    "Object.prototype",
    "Promise",
    "Promise.prototype",
    "Reflect",
    "Set.prototype",
    "String.prototype",
    "performance",
];

/// Functions of the page by which time passes.
const GLOBALS: [&str; 6] = [
    "requestAnimationFrame",
    "cancelAnimationFrame",
    "setTimeout",
    "setInterval",
    "clearTimeout",
    "clearInterval",
];

/// Phaser as it was.
pub(super) struct Adopted {
    /// Names of classes of objects by the addresses of their prototypes.
    kinds: HashMap<usize, String>,
    /// Addresses of prototypes that are asked for by name.
    prototypes: HashMap<&'static str, usize>,
    guarded: Vec<Guarded>,
    /// The prototype of all objects, and the names in it.
    all_objects: (Persistent<Object<'static>>, BTreeSet<String>),
    /// The getter by which an object with a body of Matter's says where it is.
    matter: Option<usize>,
    /// Prototypes stay where they are as long as they are held.
    _held: Vec<Persistent<Object<'static>>>,
}

struct Guarded {
    place: String,
    object: Persistent<Object<'static>>,
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
        let named = [
            "Animations.Animation",
            "Animations.AnimationState",
            "Input.InputPlugin",
            "Physics.Arcade.Body",
            "Physics.Arcade.StaticBody",
        ];
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
        let base = all_objects(ctx)?;
        let all_objects = (Persistent::save(ctx, base.clone()), own_names(&base));
        let guarded = guarded(ctx, &phaser);
        Ok(Self { kinds, prototypes, guarded, all_objects, matter, _held: held })
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

    /// A change of what measuring rests on, in words: a guarded function that is no longer the one it was, or a name that
    /// every object has since.
    pub(super) fn changed(&self, ctx: &Ctx<'_>) -> Option<String> {
        self.replaced(ctx).or_else(|| {
            let (base, names) = &self.all_objects;
            let now = own_names(&base.clone().restore(ctx).ok()?);
            let added = now.difference(names).next()?;
            Some(format!("added `{added}` to every object"))
        })
    }

    fn replaced(&self, ctx: &Ctx<'_>) -> Option<String> {
        self.guarded.iter().find_map(|guarded| {
            let object = guarded.object.clone().restore(ctx).ok()?;
            let changed = |(name, was): &&(String, usize)| function(&object, name) != Some(*was);
            let (name, _) = guarded.functions.iter().find(changed)?;
            let dot = if guarded.place.is_empty() { "" } else { "." };
            Some(format!("replaced {}{dot}{name}", guarded.place))
        })
    }
}

/// Everything whose functions must stay as they are.
fn guarded<'js>(ctx: &Ctx<'js>, phaser: &Object<'js>) -> Vec<Guarded> {
    let of_phaser =
        |path: &str| Some(Guarded::new(format!("Phaser.{path}.prototype"), class(phaser, path)?));
    let built_in = |path: &str| {
        let object = path.split('.').try_fold(ctx.globals(), |object, name| object.get(name));
        Some(Guarded::new(path.to_owned(), object.ok()?))
    };
    let globals = Guarded::of(String::new(), ctx.globals(), GLOBALS.map(str::to_owned));
    let classes = GUARDED.into_iter().filter_map(of_phaser);
    classes.chain(BUILT_IN.into_iter().filter_map(built_in)).chain([globals]).collect()
}

/// The prototype of all objects.
fn all_objects<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    ctx.globals().get::<_, Object<'js>>("Object")?.get("prototype")
}

/// Names of an object's own properties, without running any of the program's code.
fn own_names(object: &Object<'_>) -> BTreeSet<String> {
    object.own_keys::<String>(Filter::new().string()).flatten().collect()
}

impl Guarded {
    /// The functions of an object and of those that it inherits from.
    fn new(place: String, object: Object<'_>) -> Self {
        let mut names = BTreeSet::new();
        let mut looked_at = Some(object.clone());
        while let Some(here) = looked_at {
            names.extend(own_names(&here));
            looked_at = here.get_prototype();
        }
        Self::of(place, object, names)
    }

    /// Those of an object's functions that have these names.
    fn of(place: String, object: Object<'_>, names: impl IntoIterator<Item = String>) -> Self {
        let found = |name: String| function(&object, &name).map(|place| (name, place));
        let functions = names.into_iter().filter_map(found).collect();
        let ctx = object.ctx().clone();
        Self { place, object: Persistent::save(&ctx, object), functions }
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
