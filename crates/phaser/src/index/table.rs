//! Members of a declaration with those that it inherits, sorted by name: one binary search finds one.

use std::collections::{BTreeMap, HashMap};

use super::row::{Kind, Member, MemberKind, Row};
use super::types::{ANY, RowId, Type, TypeId, Types};

/// A name, by position in the order of first use.
pub(crate) type NameId = u32;

/// How a function is called, and the type of what it gives.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Whether it is a method; a property has a type alone.
    pub(crate) is_method: bool,
    /// Type of a property, or what is returned.
    pub(crate) ty: TypeId,
    /// Fewest arguments.
    pub(crate) min: u8,
    /// Types of parameters that are or hold functions.
    pub(crate) callbacks: Box<[(u8, TypeId)]>,
}

/// What a name stands for in a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A member of a class or an object.
    Member(u32),
    /// A declaration in a namespace.
    Row(RowId),
}

/// One declaration, ready for lookups.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Whether there are members that are not listed.
    pub(crate) is_open: bool,
    /// Members of an instance.
    pub(crate) instance: Vec<(NameId, Slot)>,
    /// Static members, and declarations inside.
    pub(crate) statics: Vec<(NameId, Slot)>,
    /// The constructor, the function itself, or the type of a constant.
    pub(crate) own: Option<u32>,
    /// All rows that inherit from this one.
    pub(crate) descendants: Vec<RowId>,
    /// The row and all that it inherits from.
    pub(crate) ancestors: Vec<RowId>,
    /// What is declared.
    pub(crate) kind: Option<Kind>,
    /// Whether its methods make new objects, of exactly the type that they return.
    pub(crate) is_factory: bool,
    /// The declaration itself as a type.
    pub(crate) space: Option<TypeId>,
    /// An instance of it as a type.
    pub(crate) made: Option<TypeId>,
}

/// All tables of an index.
#[derive(Debug)]
pub(crate) struct Tables {
    /// One of each row.
    pub(crate) rows: Vec<Table>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) types: Types,
    pub(crate) names: HashMap<Box<str>, NameId>,
    pub(crate) spelling: Vec<Box<str>>,
    pub(crate) paths: HashMap<String, RowId>,
}

/// Classes whose methods make game objects.
const FACTORIES: [&str; 4] = [
    "Phaser.GameObjects.GameObjectFactory",
    "Phaser.GameObjects.GameObjectCreator",
    "Phaser.Physics.Arcade.Factory",
    "Phaser.Physics.Matter.Factory",
];

/// Longest chain of inheritance that is followed.
const MAX_ANCESTORS: usize = 128;

impl Tables {
    /// Compiles rows.
    pub(crate) fn new(rows: &[Row]) -> Self {
        let id = |at: usize| RowId::try_from(at).unwrap_or(RowId::MAX);
        let paths = rows.iter().enumerate().map(|(at, row)| (row.path.clone(), id(at))).collect();
        let mut all = Self {
            rows: Vec::with_capacity(rows.len()),
            shapes: Vec::new(),
            types: Types::new(),
            names: HashMap::new(),
            spelling: Vec::new(),
            paths,
        };
        let own: Vec<OwnMembers> = rows.iter().map(|row| all.own_members(row)).collect();
        for (at, row) in rows.iter().enumerate() {
            let mut table = all.inherited(id(at), row, rows, &own);
            table.space = Some(all.types.add(Type::Space(id(at))));
            table.made = Some(all.types.add(Type::Instance(id(at), Box::default())));
            all.rows.push(table);
        }
        all.nest(rows);
        all.descend(rows);
        all
    }

    /// The number of a name that some declaration has.
    pub(crate) fn name(&self, name: &str) -> Option<NameId> {
        self.names.get(name).copied()
    }

    fn intern(&mut self, name: &str) -> NameId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = NameId::try_from(self.spelling.len()).unwrap_or(NameId::MAX);
        self.names.insert(name.into(), id);
        self.spelling.push(name.into());
        id
    }

    fn own_members(&mut self, row: &Row) -> OwnMembers {
        let mut own = OwnMembers::default();
        for (name, member) in &row.members {
            let (name_id, shape) = (self.intern(name), self.shape(member));
            if name == "constructor" {
                own.constructor = Some(shape);
            } else if member.st {
                own.statics.push((name_id, Slot::Member(shape)));
            } else {
                own.instance.push((name_id, Slot::Member(shape)));
            }
        }
        let is_value = matches!(row.kind, Kind::Function | Kind::Const | Kind::Typedef);
        if is_value && (row.t.is_some() || row.kind == Kind::Function) {
            let k =
                if row.kind == Kind::Function { MemberKind::Method } else { MemberKind::Property };
            let (t, cb) = (row.t.clone(), row.cb.clone());
            own.constructor =
                Some(self.shape(&Member { k, t, st: true, min: row.min, max: row.max, cb }));
        }
        own
    }

    fn shape(&mut self, member: &Member) -> u32 {
        let mut parse = |text: &str| self.types.parse(text, &self.paths);
        let ty = member.t.as_deref().map_or(ANY, &mut parse);
        let callbacks = member.cb.iter().map(|(at, text)| (*at, parse(text))).collect();
        let is_method = member.k == MemberKind::Method;
        self.shapes.push(Shape { is_method, ty, min: member.min, callbacks });
        u32::try_from(self.shapes.len() - 1).unwrap_or(u32::MAX)
    }

    /// The table of one row with the members of its bases; what is nearer wins.
    fn inherited(&self, at: RowId, row: &Row, rows: &[Row], own: &[OwnMembers]) -> Table {
        let is_factory = FACTORIES.contains(&row.path.as_str());
        let mut table = Table { kind: Some(row.kind), is_factory, ..Table::default() };
        let mut instance: BTreeMap<NameId, Slot> = BTreeMap::new();
        let mut statics: BTreeMap<NameId, Slot> = BTreeMap::new();
        let mut waiting = vec![at];
        while let Some(next) = waiting.pop() {
            if table.ancestors.contains(&next) || table.ancestors.len() >= MAX_ANCESTORS {
                continue;
            }
            table.ancestors.push(next);
            let (row, own) = (&rows[next as usize], &own[next as usize]);
            table.is_open |= row.open;
            table.own = table.own.or(own.constructor);
            for (name, slot) in &own.instance {
                instance.entry(*name).or_insert(*slot);
            }
            for (name, slot) in &own.statics {
                statics.entry(*name).or_insert(*slot);
            }
            for base in row.ext.iter().rev() {
                match self.paths.get(base) {
                    Some(base) => waiting.push(*base),
                    None => table.is_open = true,
                }
            }
        }
        table.instance = instance.into_iter().collect();
        table.statics = statics.into_iter().collect();
        table
    }

    /// Puts each declaration into that which its path names before the last dot.
    fn nest(&mut self, rows: &[Row]) {
        for (at, row) in rows.iter().enumerate() {
            let Some((parent, name)) = row.path.rsplit_once('.') else { continue };
            let Some(parent) = self.paths.get(parent).copied() else { continue };
            let name = self.intern(name);
            let slot = Slot::Row(RowId::try_from(at).unwrap_or(RowId::MAX));
            self.rows[parent as usize].statics.push((name, slot));
        }
        for table in &mut self.rows {
            // A declaration inside stands behind a static member of its name, and so loses.
            table.statics.sort_by_key(|(name, _)| *name);
            table.statics.dedup_by_key(|(name, _)| *name);
        }
    }

    fn descend(&mut self, rows: &[Row]) {
        for at in 0..self.rows.len() {
            let ancestors = self.rows[at].ancestors.clone();
            for ancestor in ancestors.into_iter().skip(1) {
                self.rows[ancestor as usize]
                    .descendants
                    .push(RowId::try_from(at).unwrap_or(RowId::MAX));
            }
        }
        self.descend_typedefs(rows);
    }

    /// A typedef that adds members to a class may stand for any heir of that class.
    fn descend_typedefs(&mut self, rows: &[Row]) {
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::Typedef) {
            for base in &row.ext {
                let Some(base) = self.paths.get(base).copied() else { continue };
                let heirs = self.rows[base as usize].descendants.clone();
                self.rows[at].descendants.extend(heirs);
            }
        }
    }

    /// A type as its typedef defines it.
    pub(crate) fn resolve(&self, mut ty: TypeId) -> TypeId {
        for _ in 0..8 {
            let Type::Instance(row, _) = self.types.get(ty) else { return ty };
            let table = &self.rows[*row as usize];
            match table.own.map(|own| &self.shapes[own as usize]) {
                Some(own) if !own.is_method && own.ty != ANY => ty = own.ty,
                _ => return ty,
            }
        }
        ANY
    }
}

/// Members that a row declares itself.
#[derive(Default)]
struct OwnMembers {
    instance: Vec<(NameId, Slot)>,
    statics: Vec<(NameId, Slot)>,
    constructor: Option<u32>,
}

/// What `name` stands for in a sorted list.
pub(crate) fn find(slots: &[(NameId, Slot)], name: NameId) -> Option<Slot> {
    slots.binary_search_by_key(&name, |(name, _)| *name).ok().map(|at| slots[at].1)
}
