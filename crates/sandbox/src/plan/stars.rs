//! The names that `from module import *` makes, for the modules that setups import like that.
//!
//! From `__all__`, or the public names, of `CPython` 3.11. With these the planner knows which names are
//! the setup's; those of other modules are unknown.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// The names, if the module is one that is known.
pub(super) fn names(module: &str) -> Option<&'static BTreeSet<&'static str>> {
    static MODULES: LazyLock<HashMap<&str, BTreeSet<&str>>> = LazyLock::new(|| {
        let names = |text: &'static str| text.split_ascii_whitespace().collect();
        TABLE.iter().map(|(module, text)| (*module, names(text))).collect()
    });
    MODULES.get(module)
}

const TABLE: &[(&str, &str)] = &[
    (
        "bisect",
        "
        bisect bisect_left bisect_right insort insort_left insort_right
    ",
    ),
    (
        "collections",
        "
        ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque
        namedtuple
    ",
    ),
    (
        "copy",
        "
        Error copy deepcopy
    ",
    ),
    (
        "datetime",
        "
        MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo
    ",
    ),
    (
        "decimal",
        "
        BasicContext Clamped Context ConversionSyntax Decimal DecimalException
        DecimalTuple DefaultContext DivisionByZero DivisionImpossible DivisionUndefined
        ExtendedContext FloatOperation HAVE_CONTEXTVAR HAVE_THREADS Inexact InvalidContext
        InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP
        ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP
        ROUND_UP Rounded Subnormal Underflow getcontext localcontext setcontext
    ",
    ),
    (
        "fractions",
        "
        Fraction
    ",
    ),
    (
        "functools",
        "
        WRAPPER_ASSIGNMENTS WRAPPER_UPDATES cache cached_property cmp_to_key
        lru_cache partial partialmethod reduce singledispatch singledispatchmethod
        total_ordering update_wrapper wraps
    ",
    ),
    (
        "heapq",
        "
        heapify heappop heappush heappushpop
        heapreplace merge nlargest nsmallest
    ",
    ),
    (
        "itertools",
        "
        accumulate chain combinations combinations_with_replacement compress count
        cycle dropwhile filterfalse groupby islice pairwise permutations product repeat
        starmap takewhile tee zip_longest
    ",
    ),
    (
        "math",
        "
        acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees
        dist e erf erfc exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd
        hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2
        modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan
        tanh tau trunc ulp
    ",
    ),
    (
        "operator",
        "
        abs add and_ attrgetter call concat contains countOf delitem eq floordiv ge
        getitem gt iadd iand iconcat ifloordiv ilshift imatmul imod imul index indexOf inv
        invert ior ipow irshift is_ is_not isub itemgetter itruediv
        ixor le length_hint lshift lt matmul methodcaller mod mul ne neg not_ or_ pos pow
        rshift setitem sub truediv truth xor
    ",
    ),
    (
        "random",
        "
        Random SystemRandom betavariate choice choices expovariate
        gammavariate gauss getrandbits getstate lognormvariate normalvariate paretovariate
        randbytes randint random randrange sample seed setstate shuffle triangular uniform
        vonmisesvariate weibullvariate
    ",
    ),
    (
        "re",
        "
        A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern
        RegexFlag S U UNICODE VERBOSE X compile error escape findall finditer fullmatch
        match purge search split sub subn template
    ",
    ),
    (
        "statistics",
        "
        NormalDist StatisticsError correlation covariance fmean geometric_mean
        harmonic_mean linear_regression mean median median_grouped
        median_high median_low mode multimode pstdev pvariance quantiles stdev variance
    ",
    ),
    (
        "string",
        "
        Formatter Template ascii_letters ascii_lowercase ascii_uppercase capwords digits
        hexdigits octdigits printable punctuation whitespace
    ",
    ),
    (
        "typing",
        "
        AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable
        AsyncIterator Awaitable BinaryIO ByteString Callable ChainMap ClassVar Collection
        Concatenate Container ContextManager Coroutine Counter DefaultDict Deque Dict
        Final ForwardRef FrozenSet Generator Generic Hashable IO ItemsView Iterable
        Iterator KeysView List Literal LiteralString Mapping MappingView Match
        MutableMapping MutableSequence MutableSet NamedTuple Never NewType
        NoReturn NotRequired Optional OrderedDict ParamSpec ParamSpecArgs ParamSpecKwargs
        Pattern Protocol Required Reversible Self Sequence Set Sized SupportsAbs
        SupportsBytes SupportsComplex SupportsFloat SupportsIndex SupportsInt
        SupportsRound TYPE_CHECKING Text TextIO Tuple Type TypeAlias
        TypeGuard TypeVar TypeVarTuple TypedDict Union Unpack ValuesView
        assert_never assert_type cast clear_overloads dataclass_transform
        final get_args get_origin get_overloads
        get_type_hints is_typeddict no_type_check no_type_check_decorator
        overload reveal_type runtime_checkable
    ",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_common_modules_are_known() {
        assert!(names("typing").is_some_and(|names| names.contains("Optional")));
        assert!(names("collections").is_some_and(|names| names.contains("deque")));
        assert!(
            names("math").is_some_and(|names| names.contains("inf") && !names.contains("sin2"))
        );
        assert!(names("numpy").is_none());
    }
}
