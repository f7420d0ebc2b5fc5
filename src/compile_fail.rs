//! What must not compile.

/// The inner query cannot be exchanged for that of another world.
///
/// ```compile_fail,E0596
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn exchange(mut ours: AffineQuery<&mut Health>, mut theirs: AffineQuery<&mut Health>) {
///     std::mem::swap(&mut *ours, &mut *theirs);
/// }
/// ```
pub struct NoExchange;

/// An item of a sender cannot be kept: its row may be a receiver's in the second phase.
///
/// ```compile_fail
/// use std::sync::Mutex;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn keep(mut query: AffineQuery<&mut Health>) {
///     let kept = Mutex::new(Vec::new());
///     query.par_iter_mut().scatter_within(
///         |_outbox, health: Mut<Health>| kept.lock().unwrap().push(health),
///         |_health: Mut<Health>, _message: u32| {},
///     );
/// }
/// ```
///
/// The same without keeping it does:
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn use_it(mut query: AffineQuery<&mut Health>) {
///     query.par_iter_mut().scatter_within(
///         |_outbox, mut health: Mut<Health>| health.0 += 1,
///         |_health: Mut<Health>, _message: u32| {},
///     );
/// }
/// ```
pub struct NoKeeping;

/// Workers share the closure: what it captures must be `Sync`.
///
/// ```compile_fail,E0277
/// use std::cell::Cell;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn count(query: AffineQuery<&Health>) {
///     let sum = Cell::new(0);
///     query.par_iter().for_each(|health| sum.set(sum.get() + health.0));
/// }
/// ```
pub struct NoCells;

/// Two parallel calls cannot write to the same query at a time.
///
/// ```compile_fail,E0499
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn twice(mut query: AffineQuery<&mut Health>) {
///     let first = query.par_iter_mut();
///     let second = query.par_iter_mut();
///     first.for_each(|_| {});
///     second.for_each(|_| {});
/// }
/// ```
pub struct NoTwice;

/// A slice of a column lives no longer than the borrow of its query, or another call could write to
/// its rows.
///
/// ```compile_fail,E0499
/// use std::sync::Mutex;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn keep(mut query: AffineQuery<&mut Health>) {
///     let kept = Mutex::new(Vec::new());
///     query.par_iter_mut().for_each_chunk(|slice: &mut [Health]| kept.lock().unwrap().push(slice));
///     query.par_iter_mut().for_each(|mut health| health.0 += 1);
///     drop(kept);
/// }
/// ```
pub struct NoKeptSlices;

/// What a closure is lent for one item, it cannot exchange for what another call's closure is lent.
///
/// ```compile_fail
/// use std::sync::Mutex;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn exchange(
///     outer: AffineQuery<&Health>,
///     inner: AffineQuery<&Health>,
///     mut one: AffineCommands,
///     two: Mutex<AffineCommands>,
/// ) {
///     outer.par_iter().for_each_with_commands(&mut one, |commands, _| {
///         let commands = Mutex::new(commands);
///         inner.par_iter().for_each_with_commands(&mut two.lock().unwrap(), |others, _| {
///             std::mem::swap(&mut **commands.lock().unwrap(), others);
///         });
///     });
/// }
/// ```
///
/// ```compile_fail
/// # use std::sync::Mutex;
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// fn exchange(mut outer: AffineQuery<(Entity, &mut Health)>, mut inner: ParamSet<(AffineQuery<&mut Health>,)>) {
///     let inner = Mutex::new(inner);
///     outer.par_iter_mut().scatter_within(
///         |outbox: &mut Outbox<u32>, _| {
///             let outbox = Mutex::new(outbox);
///             inner.lock().unwrap().p0().par_iter_mut().scatter_within(
///                 |others: &mut Outbox<u32>, _| std::mem::swap(&mut **outbox.lock().unwrap(), others),
///                 |_, _| {},
///             );
///         },
///         |_, _| {},
///     );
/// }
/// ```
///
/// ```compile_fail
/// # use std::sync::Mutex;
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// fn exchange(
///     mut outer: AffineQuery<&mut Health>,
///     inner: ParamSet<(AffineQuery<&mut Health>,)>,
/// ) {
///     let inner = Mutex::new(inner);
///     outer.par_iter_mut().scatter_timed_within(
///         &mut Calendar::default(),
///         0,
///         |outbox: &mut TimedOutbox<u32>, _| {
///             let outbox = Mutex::new(outbox.outbox());
///             inner.lock().unwrap().p0().par_iter_mut().scatter_within(
///                 |others: &mut Outbox<u32>, _| std::mem::swap(&mut **outbox.lock().unwrap(), others),
///                 |_, _| {},
///             );
///         },
///         |_, _| {},
///     );
/// }
/// ```
///
/// Nor can it keep that:
///
/// ```compile_fail,E0521
/// # use std::sync::Mutex;
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// fn keep(query: AffineQuery<&Health>, mut commands: AffineCommands) {
///     let kept = Mutex::new(None);
///     query.par_iter().for_each_with_commands(&mut commands, |commands, _| *kept.lock().unwrap() = Some(commands));
/// }
/// ```
///
/// ```compile_fail,E0521
/// # use bevy_affinity::prelude::*;
/// let mut kept = None;
/// AffinityPool::new(&AffinitySettings::default()).batched(|_: u32| (), |calls| kept = Some(calls));
/// ```
pub struct NoKeptLoans;

/// An item of a tree's node cannot be kept either: the node is visited again when its children have
/// been.
///
/// ```compile_fail
/// use std::sync::Mutex;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn keep(mut nodes: AffineTree<&mut Health>, roots: Query<Entity, Without<ChildOf>>) {
///     let kept = Mutex::new(Vec::new());
///     nodes.fold(&roots, |_, health: Mut<Health>, _: &[()]| kept.lock().unwrap().push(health));
/// }
/// ```
pub struct NoKeptNodes;

/// What goes from worker to worker has to be `Send`: messages, what is reduced, what is passed down
/// a tree or folded.
///
/// ```compile_fail,E0277
/// use std::rc::Rc;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn send(mut query: AffineQuery<(Entity, &mut Health)>) {
///     query.par_iter_mut().scatter_within(|outbox, (entity, _)| outbox.send(entity, Rc::new(1)), |_, _| {});
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use std::rc::Rc;
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// fn reduce(query: AffineQuery<&Health>) {
///     query.par_iter().map_reduce(|| Rc::new(0), |health| Rc::new(health.0), |one, _| one);
/// }
/// ```
///
/// And what its thread alone may touch stays out of the closures.
///
/// ```compile_fail,E0277
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// struct Window(*mut u32);
///
/// fn draw(query: AffineQuery<&Health>, window: NonSend<Window>) {
///     query.par_iter().for_each(|health| println!("{} {:?}", health.0, window.0));
/// }
/// ```
pub struct NoForeignValues;

/// A component in a sparse set has no slices.
///
/// ```compile_fail,E0080
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// #[component(storage = "SparseSet")]
/// struct Rare(u32);
///
/// fn chunks(mut query: AffineQuery<&mut Rare>) {
///     query.par_iter_mut().for_each_chunk(|_: &mut [Rare]| {});
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, chunks.affine()).update();
/// ```
pub struct NoSparseSlices;

/// The second half of a join may run beside the first, so it joins on the scope that it is handed.
///
/// ```compile_fail,E0499
/// use bevy_affinity::prelude::*;
/// AffinityPool::new(&AffinitySettings::default()).heartbeat(|scope| {
///     scope.join(|_| (), |_| { scope.join(|_| (), |_| ()); });
/// });
/// ```
pub struct NoOuterScope;

/// A scope is its worker's: another thread cannot join on it.
///
/// ```compile_fail,E0277
/// use bevy_affinity::prelude::*;
/// AffinityPool::new(&AffinitySettings::default()).heartbeat(|scope| {
///     std::thread::scope(|threads| _ = threads.spawn(|| scope.join(|_| (), |_| ())));
/// });
/// ```
///
/// Nor does it leave its session:
///
/// ```compile_fail
/// use bevy_affinity::prelude::*;
/// let scope = AffinityPool::new(&AffinitySettings::default()).heartbeat(|scope| scope);
/// ```
pub struct NoLentScope;

/// What another worker may run has to be allowed there.
///
/// ```compile_fail,E0277
/// use bevy_affinity::prelude::*;
/// use std::cell::Cell;
/// let count = Cell::new(0);
/// AffinityPool::new(&AffinitySettings::default()).heartbeat(|scope| {
///     scope.join(|_| (), |_| count.set(1));
/// });
/// ```
pub struct NoSharedCell;

/// A kernel of a fused system changes its row and nothing else.
///
/// ```compile_fail,E0277
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn die(Row((entity, health)): Row<(Entity, &Health)>, commands: Commands) {}
/// App::new().add_systems(Update, fused((die,)).affine());
/// ```
///
/// ```compile_fail,E0277
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// #[derive(Resource)]
/// struct Total(u32);
///
/// fn add(Row(health): Row<&Health>, total: ResMut<Total>) {}
/// App::new().add_systems(Update, fused((add,)).affine());
/// ```
///
/// ```compile_fail,E0277
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// fn infect(Row(health): Row<&Health>, others: Query<&mut Health>) {}
/// App::new().add_systems(Update, fused((infect,)).affine());
/// ```
///
/// Reading what is shared is fine:
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)]
/// # struct Health(u32);
/// # #[derive(Component)]
/// # struct Medic(u32);
/// fn heal(Row(mut health): Row<&mut Health>, medics: Query<&Medic>) {}
/// App::new().add_systems(Update, fused((heal,)).affine());
/// ```
pub struct NoSideEffects;

/// A kernel's row is of its own entity alone: another kernel may be changing the others.
///
/// ```compile_fail,E0277
/// use bevy::{ecs::query::NestedQuery, prelude::*};
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn compare(Row(others): Row<NestedQuery<&Health>>) {}
/// App::new().add_systems(Update, fused((compare,)).affine());
/// ```
pub struct NoOtherRows;

/// An item of a row cannot be kept: the next kernel gets the row's next.
///
/// ```compile_fail
/// use std::sync::Mutex;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// let kept: &'static Mutex<Vec<Mut<Health>>> = Box::leak(Box::default());
/// let keep = move |Row(health): Row<&mut Health>| kept.lock().unwrap().push(health);
/// App::new().add_systems(Update, fused((keep,)).affine());
/// ```
///
/// The same without keeping it does:
///
/// ```
/// use std::sync::Mutex;
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// #[derive(Component)]
/// struct Health(u32);
///
/// let kept: &'static Mutex<Vec<u32>> = Box::leak(Box::default());
/// let keep = move |Row(health): Row<&mut Health>| kept.lock().unwrap().push(health.0);
/// App::new().add_systems(Update, fused((keep,)).affine());
/// ```
pub struct NoKeptRows;

/// Kernels are functions, and lists of them tuples: a type of one's own could claim other rows than
/// it visits.
///
/// ```compile_fail,E0277
/// use bevy::prelude::*;
/// use bevy_affinity::Kernel;
/// #[derive(Component)]
/// struct Health(u32);
/// struct Mine;
///
/// impl Kernel<()> for Mine {
///     type Data = &'static mut Health;
///     type Filter = ();
///     type Params = ();
/// }
/// ```
///
/// ```compile_fail,E0277
/// use bevy_affinity::Kernels;
/// struct Mine;
///
/// impl Kernels<()> for Mine {
///     type States = ();
///     type Passes<'w, 's> = ();
/// }
/// ```
///
/// ```compile_fail,E0277
/// use bevy::prelude::*;
/// use bevy_affinity::KernelParam;
/// struct Mine;
///
/// impl KernelParam for Mine {
///     type Param = ();
///     type Shared<'a> = ();
/// }
/// ```
pub struct NoOwnKernels;
