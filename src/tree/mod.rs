//! [`AffineTree`]: recursive queries over a relationship, shared among the workers by fork/join.
//!
//! `visits.rs` is the contract with the ECS, `claims.rs` what it rests on; `propagate.rs` and
//! `fold.rs` are the two walks, `levels.rs` is their stack, `shared_walk.rs` decides who walks.

mod claims;
mod fold;
mod levels;
mod propagate;
mod shared_walk;
mod visits;

use std::{
    fmt,
    iter::Sum,
    marker::PhantomData,
    ops::{Add, AddAssign},
};

use bevy_ecs::{
    prelude::{ChildOf, Entity, Local, Query},
    query::{IterQueryData, QueryData, QueryFilter},
    relationship::Relationship,
    system::SystemParam,
};
use log::warn;

use crate::{
    auto::Notice,
    context::{is_inside_call, with_system},
    pool::AffinityPool,
    query::AffineQuery,
    settings::SchedulerMode,
};
use claims::NodeClaims;
use fold::{Fold, Sums};
use propagate::{Branches, Propagate, Roots, Values};
use visits::{Node, Walk};

/// Recursive queries over the trees of a relationship `R`, which is named by its component on the
/// child: by default Bevy's [`ChildOf`](bevy_ecs::hierarchy::ChildOf).
///
/// A node is an entity that matches `D` and `F`; what does not match is left out, with all below
/// it. In a system tagged with [`.affine()`](crate::IntoAffine::affine) a walk that takes more than
/// a few microseconds, or some 40 to 110 where workers have to be woken, is shared among the
/// workers by fork/join (see [`AffinityPool::heartbeat`]) in the modes
/// [`Auto`](SchedulerMode::Auto), [`Heartbeat`](SchedulerMode::Heartbeat) and
/// [`LockStep`](SchedulerMode::LockStep). Otherwise it runs on the calling thread. The results are
/// the same.
///
/// # Any shape
/// The depth of a tree does not matter: a walk keeps its own stack. In each call an entity is
/// visited once at most. Whatever Bevy keeps in order is a tree, but a relationship's target can be
/// edited by hand: an entity that is named twice, or that closes a cycle, is skipped and counted in
/// the [`TreeReport`]. If two nodes name the same child, either may get it.
///
/// A root is visited as a root, even if it lies below another one.
///
/// Besides its data a tree reads the relationship's target (`Children`): data that writes that
/// (`&mut Children`, `EntityMut`) conflicts with it.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Mass(f32);
/// #[derive(Component)]
/// struct TotalMass(f32);
///
/// fn add_up(mut parts: AffineTree<(&Mass, &mut TotalMass)>, ships: Query<Entity, Without<ChildOf>>) {
///     parts.fold(&ships, |_, (mass, mut total), below: &[f32]| {
///         total.0 = mass.0 + below.iter().sum::<f32>();
///         total.0
///     });
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin).add_systems(Update, add_up.affine());
/// let part = || (Mass(2.0), TotalMass(0.0));
/// let ship = app.world_mut().spawn((part(), children![part(), part()])).id();
/// app.update();
/// assert_eq!(app.world().get::<TotalMass>(ship).unwrap().0, 6.0);
/// ```
///
/// Of a relationship of one's own:
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)] struct Salary(u32);
/// #[derive(Component)]
/// #[relationship(relationship_target = Team)]
/// struct WorksFor(Entity);
/// #[derive(Component)]
/// #[relationship_target(relationship = WorksFor)]
/// struct Team(Vec<Entity>);
///
/// fn raise(mut staff: AffineTree<&mut Salary, (), WorksFor>, heads: Query<Entity, Without<WorksFor>>) {
///     staff.propagate(heads.iter().map(|head| (head, 3)), |percent, _, mut salary| {
///         salary.0 += salary.0 * percent / 100;
///         Some(percent - 1)
///     });
/// }
/// # let mut app = App::new();
/// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, raise.affine());
/// # let head = app.world_mut().spawn(Salary(100)).id();
/// # let clerk = app.world_mut().spawn((Salary(100), WorksFor(head))).id();
/// # app.update();
/// # assert_eq!([head, clerk].map(|one| app.world().get::<Salary>(one).unwrap().0), [103, 102]);
/// ```
#[derive(SystemParam)]
pub struct AffineTree<'w, 's, D, F = (), R = ChildOf>
where
    D: QueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
{
    nodes: AffineQuery<'w, 's, Node<D, R>, F>,
    claims: Local<'s, NodeClaims>,
}

impl<D, F, R> fmt::Debug for AffineTree<'_, '_, D, F, R>
where
    D: QueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AffineTree").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// What became of the entities that one call met.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Depth(u32);
///
/// fn measure(mut nodes: AffineTree<&mut Depth>, roots: Query<Entity, Without<ChildOf>>) {
///     let report: TreeReport = nodes.propagate(roots.iter().map(|root| (root, 0)), |above, _, mut depth| {
///         depth.0 = above + 1;
///         Some(depth.0)
///     });
///     assert_eq!(report.repeated, 0, "the hierarchy is a forest");
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, measure.affine()).update();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Nodes that were visited.
    pub visited: u64,
    /// Times that an entity was met which had been met before, or which is a root of this call: not
    /// visited again.
    pub repeated: u64,
    /// Roots and children that do not exist.
    pub despawned: u64,
    /// Entities that do not match the query: left out, with all below them.
    pub unmatched: u64,
}

impl Add for TreeReport {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            visited: self.visited + other.visited,
            repeated: self.repeated + other.repeated,
            despawned: self.despawned + other.despawned,
            unmatched: self.unmatched + other.unmatched,
        }
    }
}

impl AddAssign for TreeReport {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for TreeReport {
    fn sum<I: Iterator<Item = Self>>(reports: I) -> Self {
        reports.fold(Self::default(), Self::add)
    }
}

/// What [`AffineTree::fold`] returns.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Mass(f32);
///
/// fn weigh(mut nodes: AffineTree<&Mass>, roots: Query<Entity, Without<ChildOf>>) {
///     let weighed = nodes.fold(roots.iter(), |_, mass, below: &[f32]| mass.0 + below.iter().sum::<f32>());
///     for (root, mass) in weighed.roots {
///         println!("{root}: {mass}");
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, weigh.affine()).update();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFold<T> {
    /// The roots that were visited, in the given order, and what became of them.
    pub roots: Vec<(Entity, T)>,
    /// What became of all entities.
    pub report: TreeReport,
}

impl<'s, D, F, R> AffineTree<'_, 's, D, F, R>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
{
    /// Visits the trees from the roots to the leaves. `visit` gets what it returned for the parent,
    /// or for a root what is given with it; `None` leaves out all that is below. Such a value is
    /// cloned where some of a node's children are given to another worker: one that has much memory
    /// of its own belongs into an [`Arc`](std::sync::Arc).
    ///
    /// `D` may hold `Ref` or `Has`, so unchanged subtrees can be skipped:
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Offset(i32);
    /// #[derive(Component, Default)]
    /// struct Place(i32);
    /// /// Marked in a node and all above it when something below has changed.
    /// #[derive(Component)]
    /// struct Stale;
    ///
    /// fn place(mut nodes: AffineTree<(&Offset, &mut Place, Has<Stale>)>, roots: Query<Entity, Without<ChildOf>>) {
    ///     nodes.propagate(roots.iter().map(|root| (root, 0)), |parent, _, (offset, mut place, stale)| {
    ///         if !stale {
    ///             return None;
    ///         }
    ///         place.0 = parent + offset.0;
    ///         Some(place.0)
    ///     });
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).add_systems(Update, place.affine());
    /// let root = app.world_mut().spawn((Offset(1), Place(0), Stale)).id();
    /// let fresh = app.world_mut().spawn((Offset(2), Place(0), Stale, ChildOf(root))).id();
    /// let old = app.world_mut().spawn((Offset(3), Place(0), ChildOf(root))).id();
    /// app.update();
    /// assert_eq!(app.world().get::<Place>(fresh).unwrap().0, 3);
    /// assert_eq!(app.world().get::<Place>(old).unwrap().0, 0);
    /// ```
    ///
    /// # Panics
    /// With the payload of a closure that panicked, once no other one runs. Some nodes have not
    /// been visited then.
    #[track_caller]
    pub fn propagate<T: Clone + Send + Sync>(
        &mut self,
        roots: impl IntoIterator<Item = (Entity, T)>,
        visit: impl for<'i> Fn(&T, Entity, D::Item<'i, 's>) -> Option<T> + Send + Sync,
    ) -> TreeReport {
        let mut report = TreeReport::default();
        let roots = self.reserve_roots(roots, |(root, _)| *root, &mut report);
        let (entities, values) = roots.into_iter().unzip();
        report + self.propagate_from(&Roots { entities, values: Values::Each(values) }, visit)
    }

    /// [`propagate`](Self::propagate) from roots that are all different, with the same value for
    /// all. One that a node names as its child is visited once too: as a root or as that child,
    /// whichever comes first. The other time it is [repeated](TreeReport::repeated).
    pub(crate) fn propagate_from_tops<T: Clone + Send + Sync>(
        &mut self,
        roots: Vec<Entity>,
        value: T,
        visit: impl for<'i> Fn(&T, Entity, D::Item<'i, 's>) -> Option<T> + Send + Sync,
    ) -> TreeReport {
        self.claims.begin(self.nodes.rows().world.entities().len());
        self.propagate_from(&Roots { entities: roots, values: Values::Same(value) }, visit)
    }

    #[track_caller]
    fn propagate_from<T: Clone + Send + Sync>(
        &mut self,
        roots: &Roots<T>,
        visit: impl for<'i> Fn(&T, Entity, D::Item<'i, 's>) -> Option<T> + Send + Sync,
    ) -> TreeReport {
        let pool = self.pool();
        let call = Propagate { walk: self.walk(), roots, visit };
        shared_walk::walk(&call, Branches::roots(0..roots.entities.len()), pool.as_ref()).report
    }

    /// Visits the trees from the leaves to the roots. `visit` gets what it returned for the node's
    /// children, in the order of the relationship; children that are no nodes have nothing there.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Price(u32);
    /// #[derive(Component, Default)]
    /// struct Total(u32);
    ///
    /// /// A set costs what it and all its parts cost.
    /// fn add_up(
    ///     mut sets: AffineTree<(&Price, &mut Total)>,
    ///     roots: Query<Entity, Without<ChildOf>>,
    /// ) {
    ///     sets.fold(roots.iter(), |_, (price, mut total), parts: &[u32]| {
    ///         total.0 = price.0 + parts.iter().sum::<u32>();
    ///         total.0
    ///     });
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).add_systems(Update, add_up.affine());
    /// let set = app.world_mut().spawn((Price(10), Total(0))).id();
    /// app.world_mut().spawn_batch([1, 2].map(|price| (Price(price), Total(0), ChildOf(set))));
    /// app.update();
    /// assert_eq!(app.world().get::<Total>(set).unwrap().0, 13);
    /// ```
    ///
    /// # Panics
    /// With the payload of a closure that panicked, once no other one runs. Some nodes have not
    /// been visited then.
    #[track_caller]
    pub fn fold<T: Send>(
        &mut self,
        roots: impl IntoIterator<Item = Entity>,
        visit: impl for<'i> Fn(Entity, D::Item<'i, 's>, &[T]) -> T + Send + Sync,
    ) -> TreeFold<T> {
        let mut report = TreeReport::default();
        let roots = self.reserve_roots(roots, |root| *root, &mut report);
        let pool = self.pool();
        let call = Fold { walk: self.walk(), visit, value: PhantomData };
        let done = shared_walk::walk(&call, Sums::of_roots(roots), pool.as_ref());
        TreeFold { roots: done.roots.into_iter().zip(done.values).collect(), report: report + done.report }
    }

    /// Begins a call with these roots, less those that do not exist, do not match or were there
    /// before.
    #[track_caller]
    fn reserve_roots<Root>(
        &mut self,
        roots: impl IntoIterator<Item = Root>,
        entity: impl Fn(&Root) -> Entity,
        report: &mut TreeReport,
    ) -> Vec<Root> {
        let rows = self.nodes.rows();
        let claims = &mut *self.claims;
        claims.begin(rows.world.entities().len());
        let mut is_new = |root: &Root| match rows.find(entity(root)) {
            Ok(_) if claims.reserve_root(entity(root).index_u32()) => true,
            Ok(_) => {
                report.repeated += 1;
                false
            }
            Err(missing) => {
                report.count_missing(missing);
                false
            }
        };
        let reserved: Vec<_> = roots.into_iter().filter(|root| is_new(root)).collect();
        if reserved.is_empty() && report.unmatched > 0 {
            self.warn_of_roots(report.unmatched);
        }
        reserved
    }

    /// Says once for each place that none of its `unmatched` roots is a node.
    #[cold]
    #[track_caller]
    fn warn_of_roots(&self, unmatched: u64) {
        let place = self.nodes.call_site();
        if place.is_first(Notice::NoRoots) {
            let system = place.in_system();
            warn!(
                "bevy_affinity: the call at {place:?}{system} visits nothing: its roots ({unmatched}) do not match the \
                 tree's query (they lack a component, or are disabled; said once for this place, `TreeReport` counts them)"
            );
        }
    }

    /// The nodes with those that they name as children, to visit in some other way.
    pub(crate) fn nodes(&mut self) -> Query<'_, 's, Node<D, R>, F> {
        self.nodes.reborrow()
    }

    /// The workers to share a walk with, if the mode has any.
    #[track_caller]
    fn pool(&self) -> Option<AffinityPool> {
        if is_inside_call() {
            return None;
        }
        let pool = with_system(|entered| match entered.mode {
            SchedulerMode::Serial | SchedulerMode::Bevy => None,
            SchedulerMode::Auto | SchedulerMode::LockStep | SchedulerMode::Heartbeat => {
                Some(entered.context.pool.clone())
            }
        });
        if pool.is_none() {
            self.nodes.warn_untagged("an AffineTree runs serially");
        }
        pool.flatten().filter(|pool| pool.workers() > 1)
    }

    fn walk(&mut self) -> Walk<'_, 's, '_, D, F, R> {
        Walk { sweep: self.nodes.reborrow_affine().into_sweep(), claims: &self.claims }
    }
}
