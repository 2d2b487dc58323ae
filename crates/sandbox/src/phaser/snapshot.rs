//! The scenes of a game as plain data, read through own properties and known prototypes.

use std::collections::{HashMap, HashSet};

use rquickjs::object::Filter;
use rquickjs::{Object, Persistent, Value};

use super::adopted::Adopted;
use super::colors::{self, Drawn};
use super::peek::{Forged, inherited, items, number, object, own, short};
use super::trace::{BodyState, ObjectState, Snapshot, TEXTS};
use super::views::Views;
use crate::javascript::engine::place;

/// Objects of one snapshot, at most.
pub(super) const OBJECTS_MAX: usize = 200;
/// Objects that are told apart in one run, at most.
const KNOWN_MAX: usize = 4000;
/// Scenes of a game, items of a list, characters of a name and of a text that are looked at.
const SCENES_MAX: u32 = 64;
const LIST_MAX: u32 = 2000;
const NAME_MAX: usize = 60;
const TEXT_MAX: usize = 120;
/// Containers inside one another.
const DEPTH_MAX: u32 = 8;
/// Numbers are kept to a thousandth.
const PRECISION: f64 = 1e3;

/// A scene's status while it runs, and while it is paused.
const SHOWN: [f64; 2] = [5.0, 6.0];

/// The objects that were seen so far, held so that no address is used twice.
#[derive(Default)]
pub(super) struct Known {
    numbers: HashMap<usize, u32>,
    /// Those that a camera showed.
    shown: HashSet<u32>,
    held: Vec<Persistent<Object<'static>>>,
}

impl Known {
    /// Whether a camera showed the object of this number.
    pub(super) fn is_shown(&self, number: u32) -> bool {
        self.shown.contains(&number)
    }

    /// The number of an object; `None` if there are too many.
    fn number(&mut self, object: &Object<'_>) -> Option<u32> {
        let at = place(object.as_value());
        if let Some(number) = self.numbers.get(&at) {
            return Some(*number);
        }
        if self.held.len() >= KNOWN_MAX {
            return None;
        }
        let number = u32::try_from(self.held.len()).ok()?;
        self.held.push(Persistent::save(object.ctx(), object.clone()));
        self.numbers.insert(at, number);
        Some(number)
    }
}

/// Where the children of a container are.
#[derive(Clone, Copy)]
struct Inside {
    x: f64,
    y: f64,
    scale: [f64; 2],
    alpha: f64,
    visible: bool,
    /// By which part the container scrolls with the world; nothing outside of one.
    scroll_factor: Option<[f64; 2]>,
    depth: u32,
}

const OUTSIDE: Inside = Inside {
    x: 0.0,
    y: 0.0,
    scale: [1.0, 1.0],
    alpha: 1.0,
    visible: true,
    scroll_factor: None,
    depth: 0,
};

/// What a scene says of its objects.
struct Scene {
    views: Views,
    /// Addresses of the objects that take input.
    interactive: HashSet<usize>,
}

/// Takes one snapshot.
pub(super) struct Camera<'a> {
    pub(super) adopted: &'a Adopted,
    pub(super) known: &'a mut Known,
    /// Objects were left out.
    pub(super) truncated: bool,
}

impl Camera<'_> {
    /// The game as it is now.
    pub(super) fn take(&mut self, game: &Object<'_>, frame: u32) -> Result<Snapshot, Forged> {
        let mut shot = Snapshot { frame, ..Snapshot::default() };
        // A game that was destroyed has no scenes.
        let Some(manager) = object(game, "scene")? else { return Ok(shot) };
        if !self.adopted.is(&manager, "Scenes.SceneManager") {
            return Err(Forged);
        }
        let Some(scenes) = object(&manager, "scenes")? else { return Ok(shot) };
        let keys = keys(&manager)?;
        for scene in items(&scenes, SCENES_MAX)? {
            let key = keys.get(&place(&scene)).cloned().unwrap_or_default();
            if let Some(systems) = systems(scene)? {
                self.scene(&systems, key, &mut shot)?;
            }
        }
        Ok(shot)
    }

    fn scene(
        &mut self,
        systems: &Object<'_>,
        key: String,
        shot: &mut Snapshot,
    ) -> Result<(), Forged> {
        let Some(settings) = object(systems, "settings")? else { return Ok(()) };
        let status = number(own(&settings, "status")?).unwrap_or(0.0);
        if !SHOWN.contains(&status) {
            return Ok(());
        }
        if shot.scenes.is_empty() {
            shot.scroll = scroll(systems)?;
        }
        shot.scenes.push(key);
        let Some(display) = object(systems, "displayList")? else { return Ok(()) };
        if !self.adopted.is(&display, "GameObjects.DisplayList") {
            return Err(Forged);
        }
        let interactive = self.interactive(systems)?;
        let scene = Scene { views: Views::of(systems)?, interactive };
        self.list(&display, &scene, OUTSIDE, &mut shot.objects)
    }

    /// Addresses of the objects that the scene's plugin hands input to.
    fn interactive(&self, systems: &Object<'_>) -> Result<HashSet<usize>, Forged> {
        let mut all = HashSet::new();
        let plugin = object(systems, "input")?;
        let Some(plugin) = plugin.filter(|plugin| self.adopted.is(plugin, "Input.InputPlugin"))
        else {
            return Ok(all);
        };
        for name in ["_list", "_pendingInsertion"] {
            let list = object(&plugin, name)?;
            let list = list.map_or(Ok(Vec::new()), |list| items(&list, LIST_MAX))?;
            all.extend(list.iter().map(place));
        }
        Ok(all)
    }

    /// The objects of a list, or of a container.
    fn list(
        &mut self,
        of: &Object<'_>,
        scene: &Scene,
        inside: Inside,
        into: &mut Vec<ObjectState>,
    ) -> Result<(), Forged> {
        let Some(list) = object(of, "list")? else { return Ok(()) };
        for item in items(&list, LIST_MAX)? {
            let Some(item) = item.into_object() else { continue };
            let kind = self.adopted.kind(&item).ok_or(Forged)?.to_owned();
            let number = self.known.number(&item);
            let (Some(id), true) = (number, into.len() < OBJECTS_MAX) else {
                self.truncated = true;
                return Ok(());
            };
            let mut state = state(self.adopted, &item, ObjectState::of(id, kind), inside)?;
            state.interactive &= scene.interactive.contains(&place(item.as_value()));
            let own_factor =
                || Ok([factor(&item, "scrollFactorX")?, factor(&item, "scrollFactorY")?]);
            let scroll_factor = inside.scroll_factor.map_or_else(own_factor, Ok)?;
            if scene.views.show(&state, scroll_factor) {
                self.known.shown.insert(id);
            }
            let within =
                Inside { scroll_factor: Some(scroll_factor), ..state_inside(&state, inside) };
            let is_parent = matches!(state.kind.as_str(), "Container" | "Layer");
            into.push(state);
            if is_parent && inside.depth < DEPTH_MAX {
                self.list(&item, scene, within, into)?;
            }
        }
        Ok(())
    }
}

/// Keys of scenes by the addresses of the scenes, as the manager has them.
fn keys(manager: &Object<'_>) -> Result<HashMap<usize, String>, Forged> {
    let Some(named) = object(manager, "keys")? else { return Ok(HashMap::new()) };
    if named.as_value().is_proxy() {
        return Err(Forged);
    }
    let names = named.own_keys::<String>(Filter::new().string()).flatten();
    let names: Vec<String> = names.take(SCENES_MAX as usize).collect();
    let of = |name: String| {
        let scene = own(&named, &name)?;
        Ok(scene.map(|scene| (place(&scene), name.chars().take(NAME_MAX).collect())))
    };
    names.into_iter().filter_map(|name| of(name).transpose()).collect()
}

/// By which part an object scrolls with the world.
fn factor(item: &Object<'_>, name: &str) -> Result<f64, Forged> {
    Ok(number(inherited(item, name)?).unwrap_or(1.0))
}

fn systems(scene: Value<'_>) -> Result<Option<Object<'_>>, Forged> {
    scene.into_object().map_or(Ok(None), |scene| object(&scene, "sys"))
}

fn scroll(systems: &Object<'_>) -> Result<[f64; 2], Forged> {
    let cameras = object(systems, "cameras")?;
    let main = cameras.map_or(Ok(None), |cameras| object(&cameras, "main"))?;
    let Some(main) = main else { return Ok([0.0; 2]) };
    let read = |name| Ok(rounded(number(own(&main, name)?).unwrap_or(0.0)));
    Ok([read("_scrollX")?, read("_scrollY")?])
}

fn state_inside(state: &ObjectState, inside: Inside) -> Inside {
    Inside {
        x: state.x,
        y: state.y,
        scale: [inside.scale[0] * state.scale[0], inside.scale[1] * state.scale[1]],
        alpha: state.alpha,
        visible: state.visible,
        scroll_factor: inside.scroll_factor,
        depth: inside.depth + 1,
    }
}

impl ObjectState {
    pub(super) fn of(id: u32, kind: String) -> Self {
        Self {
            id,
            kind,
            x: 0.0,
            y: 0.0,
            width: 0.0,
            height: 0.0,
            origin: [0.5, 0.5],
            rotation: 0.0,
            scale: [1.0, 1.0],
            alpha: 1.0,
            visible: true,
            text: None,
            color: None,
            more_colors: Vec::new(),
            texture: None,
            animation: None,
            interactive: false,
            body: None,
        }
    }
}

/// Reads an object. What is an accessor of Phaser's own in some classes is read where it may be; where
/// data belongs, an accessor is forged.
fn state(
    adopted: &Adopted,
    item: &Object<'_>,
    mut state: ObjectState,
    inside: Inside,
) -> Result<ObjectState, Forged> {
    let body = object(item, "body")?;
    let matter = body.as_ref().filter(|_| adopted.follows_body(item));
    let [x, y] = position(item, matter)?;
    // What is nowhere is not to be seen.
    let nowhere = x.is_none() || y.is_none();
    state.x = rounded(inside.x + x.unwrap_or(0.0) * inside.scale[0]);
    state.y = rounded(inside.y + y.unwrap_or(0.0) * inside.scale[1]);
    let loose = |name: &str| number(inherited(item, name).ok().flatten());
    let strict = |name: &str| Ok(number(inherited(item, name)?));
    state.scale = [strict("_scaleX")?.unwrap_or(1.0), strict("_scaleY")?.unwrap_or(1.0)];
    let size = |name: &str, at: usize| {
        rounded((loose(name).unwrap_or(0.0) * state.scale[at] * inside.scale[at]).abs())
    };
    (state.width, state.height) = (size("width", 0), size("height", 1));
    state.scale = state.scale.map(rounded);
    let origin = |name: &str| rounded(loose(name).unwrap_or(0.5));
    state.origin = [origin("originX"), origin("originY")];
    let angle = matter.map_or(Ok(None), |body| own(body, "angle"))?;
    state.rotation = rounded(number(angle).or(strict("_rotation")?).unwrap_or(0.0));
    state.alpha = rounded(inside.alpha * strict("_alpha")?.unwrap_or(1.0));
    let visible = inherited(item, "_visible")?.and_then(|value| value.as_bool()).unwrap_or(true);
    state.visible = visible && inside.visible && !nowhere;
    if TEXTS.contains(&state.kind.as_str()) {
        state.text = inherited(item, "_text")?.and_then(|text| short(&text, TEXT_MAX));
    }
    let Drawn { colors, draws } = colors::of(item, &state.kind);
    state.visible &= draws;
    let mut colors = colors.into_iter();
    (state.color, state.more_colors) = (colors.next(), colors.collect());
    if state.text.is_none() {
        state.texture = key_of(item, "texture");
    }
    state.animation = animation(adopted, item)?;
    state.interactive = object(item, "input")?.is_some_and(|input| {
        own(&input, "enabled").ok().flatten().and_then(|on| on.as_bool()) == Some(true)
    });
    // A body is one of Arcade's, or that by which Matter says where the object is.
    let of_phaser = |body: &Object<'_>| {
        matter.is_some()
            || adopted.is(body, "Physics.Arcade.Body")
            || adopted.is(body, "Physics.Arcade.StaticBody")
    };
    let body = body.as_ref().filter(|body| of_phaser(body));
    state.body = body.map_or(Ok(None), |body| body_state(adopted, body))?;
    Ok(state)
}

/// The key of the animation that an object plays, by a state of Phaser's own.
fn animation(adopted: &Adopted, item: &Object<'_>) -> Result<Option<String>, Forged> {
    let anims = object(item, "anims")?;
    let Some(anims) = anims.filter(|anims| adopted.is(anims, "Animations.AnimationState")) else {
        return Ok(None);
    };
    let plays = own(&anims, "isPlaying")?.and_then(|value| value.as_bool()).unwrap_or(false);
    let current = object(&anims, "currentAnim")?;
    let current = current.filter(|current| plays && adopted.is(current, "Animations.Animation"));
    current
        .map_or(Ok(None), |current| Ok(own(&current, "key")?.and_then(|key| short(&key, NAME_MAX))))
}

/// The place of an object: its own, or that of its body of Matter's.
fn position(item: &Object<'_>, matter: Option<&Object<'_>>) -> Result<[Option<f64>; 2], Forged> {
    if let Some(body) = matter {
        let Some(place) = object(body, "position")? else { return Ok([None; 2]) };
        return Ok([number(own(&place, "x")?), number(own(&place, "y")?)]);
    }
    let (x, y) = (inherited(item, "x")?, inherited(item, "y")?);
    // A layer has no place of its own.
    let or_origin =
        |value: Option<Value<'_>>| if value.is_none() { Some(0.0) } else { number(value) };
    Ok([or_origin(x), or_origin(y)])
}

fn body_state(adopted: &Adopted, body: &Object<'_>) -> Result<Option<BodyState>, Forged> {
    if adopted.is(body, "Physics.Arcade.StaticBody") {
        return Ok(Some(BodyState { vx: 0.0, vy: 0.0, fixed: true }));
    }
    let Some(velocity) = object(body, "velocity")? else { return Ok(None) };
    let read = |name| Ok::<_, Forged>(rounded(number(own(&velocity, name)?).unwrap_or(0.0)));
    let fixed = own(body, "isStatic")?.and_then(|fixed| fixed.as_bool()).unwrap_or(false);
    Ok(Some(BodyState { vx: read("x")?, vy: read("y")?, fixed }))
}

fn key_of(item: &Object<'_>, name: &str) -> Option<String> {
    let of = object(item, name).ok()??;
    short(&own(&of, "key").ok()??, NAME_MAX)
}

/// A number as it is kept: finite, to a thousandth, and within bounds.
fn rounded(number: f64) -> f64 {
    let rounded = (number.clamp(-1e9, 1e9) * PRECISION).round() / PRECISION;
    // Minus zero is zero.
    rounded + 0.0
}
