//! What the cameras of a scene show: whether an object is to be seen, from its place, its size and its opacity.
//!
//! A world is larger than the screen, and a short run does not scroll through all of it: what lies within some screens
//! of what a camera shows counts as shown too. Rotation is not followed: of an object the circle around its place counts
//! that holds it in any direction.

use rquickjs::Object;

use super::peek::{Forged, inherited, items, number, object, own};
use super::trace::ObjectState;

/// Cameras of a scene that are looked at.
const CAMERAS_MAX: u32 = 16;
/// The opacity below which nothing is to be seen.
const FAINT: f64 = 0.05;
/// Pixels on the screen below which nothing is to be seen.
const TINY: f64 = 0.5;

/// Screens around what a camera shows that it may still come to.
const SCREENS: f64 = 8.0;

/// What one camera shows.
#[derive(Debug, Clone, Copy)]
struct View {
    /// Left, top, right and bottom edge, in the coordinates of the world.
    edges: [f64; 4],
    scroll: [f64; 2],
    zoom: [f64; 2],
    alpha: f64,
}

/// What the cameras of a scene show.
#[derive(Debug, Default)]
pub(super) struct Views(Vec<View>);

impl Views {
    /// Of the cameras of a scene's systems.
    pub(super) fn of(systems: &Object<'_>) -> Result<Self, Forged> {
        let manager = object(systems, "cameras")?;
        let list = manager.map_or(Ok(None), |manager| object(&manager, "cameras"))?;
        let mut views = Vec::new();
        for camera in list.map_or(Ok(Vec::new()), |list| items(&list, CAMERAS_MAX))? {
            if let Some(camera) = camera.into_object() {
                views.extend(View::of(&camera)?);
            }
        }
        Ok(Self(views))
    }

    /// Whether one of them shows this object, which scrolls with the world by these parts.
    pub(super) fn show(&self, state: &ObjectState, scroll_factor: [f64; 2]) -> bool {
        self.0.iter().any(|view| view.shows(state, scroll_factor))
    }
}

impl View {
    /// `None` of a camera that is switched off.
    fn of(camera: &Object<'_>) -> Result<Option<Self>, Forged> {
        let read = |name: &str| Ok(number(inherited(camera, name)?).unwrap_or(0.0));
        let on = inherited(camera, "_visible")?.and_then(|value| value.as_bool()).unwrap_or(true);
        if !on {
            return Ok(None);
        }
        let scroll = [read("_scrollX")?, read("_scrollY")?];
        let world = object(camera, "worldView")?;
        let world = world.map_or(Ok::<_, Forged>([0.0; 4]), |world| {
            let read = |name: &str| Ok(number(own(&world, name)?).unwrap_or(0.0));
            Ok([read("x")?, read("y")?, read("width")?, read("height")?])
        })?;
        // Before its first frame it has looked at nothing.
        let [left, top, width, height] = if world[2] > 0.0 {
            world
        } else {
            [scroll[0], scroll[1], read("_width")?, read("_height")?]
        };
        let edges = [left, top, left + width, top + height];
        let zoom = [read("_zoomX")?, read("_zoomY")?];
        let alpha = number(inherited(camera, "_alpha")?).unwrap_or(1.0);
        Ok(Some(Self { edges, scroll, zoom, alpha }))
    }

    fn shows(&self, state: &ObjectState, scroll_factor: [f64; 2]) -> bool {
        if !state.visible || state.alpha * self.alpha < FAINT {
            return false;
        }
        let Some([width, height]) = size(state) else { return true };
        let [wide, high] = [width * self.zoom[0], height * self.zoom[1]];
        let is_tiny = match state.kind.as_str() {
            "Curve" | "Line" => wide.max(high) < TINY,
            _ => wide < TINY || high < TINY,
        };
        let shifted = |at: usize, place: f64| place + self.scroll[at] * (1.0 - scroll_factor[at]);
        let (x, y) = (shifted(0, state.x), shifted(1, state.y));
        let [left, top, right, bottom] = self.edges;
        let reach = |screen: f64| width.hypot(height) + SCREENS * screen;
        let (across, along) = (reach(right - left), reach(bottom - top));
        !is_tiny && x + across > left && x - across < right && y + along > top && y - along < bottom
    }
}

/// The size of an object, if its class has one.
fn size(state: &ObjectState) -> Option<[f64; 2]> {
    let has_none = matches!(
        state.kind.as_str(),
        "Blitter"
            | "Container"
            | "DOMElement"
            | "Graphics"
            | "Layer"
            | "ParticleEmitter"
            | "Rope"
            | "Zone"
    );
    (!has_none).then_some([state.width, state.height])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(change: impl FnOnce(&mut ObjectState)) -> ObjectState {
        let mut state = ObjectState::of(1, "Rectangle".to_owned());
        (state.x, state.y, state.width, state.height) = (50.0, 50.0, 10.0, 10.0);
        change(&mut state);
        state
    }

    #[test]
    fn what_is_nowhere_faint_or_tiny_is_not_shown() {
        let view =
            View { edges: [0.0, 0.0, 800.0, 600.0], scroll: [0.0; 2], zoom: [1.0; 2], alpha: 1.0 };
        let shows = |change: fn(&mut ObjectState)| view.shows(&object(change), [1.0; 2]);
        assert!(shows(|_| ()));
        assert!(shows(|state| state.x = -1200.0), "the world may be larger than the screen");
        assert!(!shows(|state| state.x = -90_000.0));
        assert!(!shows(|state| state.y = 6000.0));
        assert!(!shows(|state| state.alpha = 0.002));
        assert!(!shows(|state| state.visible = false));
        assert!(!shows(|state| state.width = 0.0));
        assert!(shows(|state| (state.kind, state.width) = ("Line".to_owned(), 0.0)));
        assert!(shows(|state| (state.kind, state.x) = ("Graphics".to_owned(), -90_000.0)));
        let far = View { zoom: [0.0001; 2], ..view };
        assert!(!far.shows(&object(|_| ()), [1.0; 2]));
        let faded = View { alpha: 0.01, ..view };
        assert!(!faded.shows(&object(|_| ()), [1.0; 2]));
    }

    #[test]
    fn what_does_not_scroll_stays_on_the_screen() {
        let edges = [50_000.0, 0.0, 50_800.0, 600.0];
        let view = View { edges, scroll: [50_000.0, 0.0], zoom: [1.0; 2], alpha: 1.0 };
        assert!(view.shows(&object(|_| ()), [0.0; 2]));
        assert!(!view.shows(&object(|_| ()), [1.0; 2]));
    }
}
