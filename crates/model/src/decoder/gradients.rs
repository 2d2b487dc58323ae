//! Gradients of the trained parameters: a list parallel to that of the parameters, which allocates
//! nothing else.
//!
//! Two of them, of the same model, are vectors: they can be added and multiplied.

use std::collections::BTreeMap;

use whetstone_kernels::{Buffer, Device, View, ViewMut, add, norm};

use super::parameters::{Parameter, ParameterId, Parameters};

/// Gradients of the trained parameters.
#[derive(Debug)]
pub struct Gradients {
    all: Vec<Option<Buffer<f32>>>,
}

impl Gradients {
    /// Zeros for everything that is trained now.
    pub fn new(device: &Device, parameters: &Parameters) -> Self {
        let of =
            |parameter: &Parameter| parameter.trained.then(|| device.zeros(parameter.numbers()));
        Self { all: parameters.ids().map(|id| of(parameters.get(id))).collect() }
    }

    /// Zeros again.
    pub fn clear(&mut self, device: &Device) {
        let mut all: Vec<_> = self.all.iter_mut().flatten().map(Buffer::view_mut).collect();
        norm::clear(device, &mut all);
    }

    /// The gradient of a tensor, if it is trained.
    pub fn get(&self, id: ParameterId) -> Option<View<'_, f32>> {
        self.all[id.0].as_ref().map(Buffer::view)
    }

    /// The gradient of a parameter, to accumulate into.
    pub(crate) fn get_mut(&mut self, id: ParameterId) -> Option<ViewMut<'_, f32>> {
        self.all[id.0].as_mut().map(Buffer::view_mut)
    }

    /// The gradients of two parameters, to accumulate into.
    ///
    /// # Panics
    ///
    /// If the two are one.
    pub(crate) fn both_mut(&mut self, ids: [ParameterId; 2]) -> [Option<ViewMut<'_, f32>>; 2] {
        let both = self.all.get_disjoint_mut(ids.map(|id| id.0)).expect("two tensors");
        both.map(|buffer| buffer.as_mut().map(Buffer::view_mut))
    }

    /// The gradients of several parameters, in the order of `ids`, which must be distinct.
    pub(crate) fn several_mut(&mut self, ids: &[ParameterId]) -> Vec<Option<ViewMut<'_, f32>>> {
        let mut found: Vec<Option<ViewMut<'_, f32>>> = ids.iter().map(|_| None).collect();
        let places: BTreeMap<usize, usize> =
            ids.iter().enumerate().map(|(at, id)| (id.0, at)).collect();
        for (id, buffer) in self.all.iter_mut().enumerate() {
            if let Some(&at) = places.get(&id) {
                found[at] = buffer.as_mut().map(Buffer::view_mut);
            }
        }
        found
    }

    /// `self += factor · other`.
    ///
    /// # Panics
    ///
    /// If the two are not gradients of the same tensors.
    pub fn add_scaled(&mut self, device: &Device, factor: f32, other: &Self) {
        self.check(other);
        for (to, from) in self.all.iter_mut().flatten().zip(other.all.iter().flatten()) {
            add::scaled(device, &mut to.view_mut(), factor, from.view());
        }
    }

    /// `Σ self · other` over all numbers of all tensors.
    ///
    /// # Panics
    ///
    /// If the two are not gradients of the same tensors.
    pub fn dot(&self, device: &Device, other: &Self) -> f64 {
        self.check(other);
        let both = self.all.iter().flatten().zip(other.all.iter().flatten());
        let pairs: Vec<_> = both.map(|(x, y)| norm::Pair { x: x.view(), y: y.view() }).collect();
        norm::dot_all(device, &pairs)
    }

    /// `Σ g²` over all numbers of all tensors: the square of the global norm.
    pub fn sum_of_squares(&self, device: &Device) -> f64 {
        self.dot(device, self)
    }

    /// `Σ g²` over all numbers of those tensors that `is_of` picks.
    pub fn sum_of_squares_of(&self, device: &Device, is_of: impl Fn(ParameterId) -> bool) -> f64 {
        let all = self.all.iter().enumerate().filter(|(at, _)| is_of(ParameterId(*at)));
        let all = all.filter_map(|(_, buffer)| Some(buffer.as_ref()?.view()));
        let pairs: Vec<_> = all.map(|view| norm::Pair { x: view, y: view }).collect();
        norm::dot_all(device, &pairs)
    }

    /// The first tensor whose gradient has a non-finite value.
    pub fn first_not_finite(&self, device: &Device) -> Option<ParameterId> {
        let trained = self.all.iter().enumerate();
        let trained = trained.filter_map(|(at, buffer)| Some((at, buffer.as_ref()?.view())));
        let (places, tensors): (Vec<usize>, Vec<View<'_, f32>>) = trained.unzip();
        norm::first_not_finite(device, &tensors).map(|at| ParameterId(places[at]))
    }

    fn check(&self, other: &Self) {
        let sizes = |gradients: &Self| -> Vec<Option<usize>> {
            gradients.all.iter().map(|buffer| buffer.as_ref().map(Buffer::len)).collect()
        };
        assert_eq!(sizes(self), sizes(other), "gradients of the same tensors");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tensors of these numbers; all but the second are trained.
    fn parameters(device: &Device) -> Parameters {
        let mut parameters = Parameters::default();
        for (at, size) in [3, 5, 2].into_iter().enumerate() {
            let numbers = device.zeros(size);
            let id = parameters.add(device, format!("t{at}"), vec![size], numbers);
            parameters.train(id, at != 1);
        }
        parameters
    }

    fn gradients(device: &Device, numbers: [f32; 5]) -> Gradients {
        let parameters = parameters(device);
        let mut gradients = Gradients::new(device, &parameters);
        let ids: Vec<ParameterId> = parameters.trained().collect();
        for (id, part) in ids.into_iter().zip([&numbers[..3], &numbers[3..]]) {
            let from = device.upload(part);
            device.copy(&mut gradients.get_mut(id).unwrap(), from.view());
        }
        gradients
    }

    #[test]
    fn only_what_is_trained_has_a_gradient_and_places_come_in_order() {
        let device = Device::cpu(1).unwrap();
        let mut parameters = parameters(&device);
        let gradients = Gradients::new(&device, &parameters);
        let mut seen = Vec::new();
        for id in parameters.trained() {
            assert_eq!(parameters.values_mut(id).len(), gradients.get(id).unwrap().len());
            seen.push(parameters.get(id).name.clone());
        }
        assert_eq!(seen, ["t0", "t2"]);
        assert_eq!(parameters.ids().filter_map(|id| gradients.get(id)).count(), 2);
    }

    #[test]
    fn they_are_added_and_multiplied_as_one_vector() {
        let device = Device::cpu(1).unwrap();
        let mut x = gradients(&device, [1.0, -2.0, 3.0, 0.5, 4.0]);
        let y = gradients(&device, [2.0, 1.0, -1.0, 8.0, 0.25]);
        assert_eq!(x.dot(&device, &y).to_bits(), 2f64.to_bits());
        assert_eq!(y.sum_of_squares(&device).to_bits(), 70.0625f64.to_bits());
        x.add_scaled(&device, -2.0, &y);
        let ids = parameters(&device).ids();
        let sum = ids.filter_map(|id| x.get(id)).flat_map(|view| device.read(view));
        assert_eq!(sum.collect::<Vec<_>>(), [-3.0, -4.0, 5.0, -15.5, 3.5]);
    }

    #[test]
    #[should_panic(expected = "gradients of the same tensors")]
    fn gradients_of_other_tensors_are_refused() {
        let device = Device::cpu(1).unwrap();
        let mut other = parameters(&device);
        let first = other.ids().next().unwrap();
        other.train(first, false);
        let other = Gradients::new(&device, &other);
        gradients(&device, [0.0; 5]).dot(&device, &other);
    }

    #[test]
    fn the_first_tensor_with_a_number_that_is_none_is_named() {
        let device = Device::cpu(1).unwrap();
        let named = |numbers| {
            let id = gradients(&device, numbers).first_not_finite(&device)?;
            Some(parameters(&device).get(id).name.clone())
        };
        assert_eq!(named([1.0, 2.0, f32::MAX, 0.0, -1.0]), None);
        assert_eq!(named([1.0, 2.0, 3.0, 0.0, f32::NAN]).as_deref(), Some("t2"));
        assert_eq!(named([1.0, f32::INFINITY, 3.0, f32::NAN, 0.0]).as_deref(), Some("t0"));
    }
}
