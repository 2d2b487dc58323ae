//! Modules that are known to do the same in every run, by the names in them that are.
//!
//! From `__all__`, or the public names that are no modules, of `CPython` 3.11, less what reads the clock,
//! makes chance (but for the generator that the judge seeds), or evaluates text. What is not here varies:
//! so no module is reached through another one (`enum.bltns`).

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// The steady names of a module.
#[derive(Debug)]
pub(super) struct Steady {
    /// What these give shows no address and is not hashed by one.
    plain: BTreeSet<&'static str>,
    /// What these give may.
    objects: BTreeSet<&'static str>,
}

impl Steady {
    pub(super) fn has(&self, name: &str) -> bool {
        self.plain.contains(name) || self.objects.contains(name)
    }

    /// Whether a call of this name may give an object that is told from others by its address.
    pub(super) fn makes_object(&self, name: &str) -> bool {
        self.objects.contains(name)
    }
}

/// What of `module` is steady; none if nothing is known of it.
pub(super) fn of_module(module: &str) -> Option<&'static Steady> {
    static MODULES: LazyLock<HashMap<&str, Steady>> = LazyLock::new(|| {
        let names = |text: &'static str| text.split_ascii_whitespace().collect();
        let read = |row: &Row| {
            (row.module, Steady { plain: names(row.plain), objects: names(row.objects) })
        };
        TABLE.iter().map(read).collect()
    });
    MODULES.get(module)
}

struct Row {
    module: &'static str,
    plain: &'static str,
    objects: &'static str,
}

const TABLE: &[Row] = &[
    Row {
        module: "__future__",
        plain: "
            absolute_import all_feature_names annotations barry_as_FLUFL division generator_stop
            generators nested_scopes print_function unicode_literals with_statement
        ",
        objects: "",
    },
    Row {
        module: "abc",
        plain: "ABC ABCMeta abstractmethod get_cache_token update_abstractmethods",
        objects: "abstractclassmethod abstractproperty abstractstaticmethod",
    },
    Row { module: "array", plain: "ArrayType array typecodes", objects: "" },
    Row {
        module: "base64",
        plain: "
            a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode
            b64decode b64encode b85decode b85encode decode decodebytes encode encodebytes
            standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode
        ",
        objects: "",
    },
    Row {
        module: "binascii",
        plain: "
            Error Incomplete a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu
            crc32 crc_hqx hexlify unhexlify
        ",
        objects: "",
    },
    Row {
        module: "bisect",
        plain: "bisect bisect_left bisect_right insort insort_left insort_right",
        objects: "",
    },
    Row {
        module: "calendar",
        plain: "
            MONDAY SUNDAY day_abbr day_name isleap leapdays month_abbr month_name monthcalendar
            monthrange timegm weekday
        ",
        objects: "",
    },
    Row {
        module: "cmath",
        plain: "
            acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan
            log log10 nan nanj phase pi polar rect sin sinh sqrt tan tanh tau
        ",
        objects: "",
    },
    Row {
        module: "collections",
        plain: "
            ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple
        ",
        objects: "",
    },
    Row {
        module: "collections.abc",
        plain: "
            AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable Collection
            Container Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping
            MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized
            ValuesView
        ",
        objects: "",
    },
    Row {
        module: "colorsys",
        plain: "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb",
        objects: "",
    },
    Row { module: "contextlib", plain: "contextmanager", objects: "nullcontext" },
    Row { module: "copy", plain: "Error copy deepcopy", objects: "" },
    Row {
        module: "dataclasses",
        plain: "KW_ONLY MISSING asdict astuple dataclass is_dataclass replace",
        objects: "Field FrozenInstanceError InitVar field fields make_dataclass",
    },
    Row {
        module: "datetime",
        plain: "MAXYEAR MINYEAR UTC date datetime time timedelta timezone",
        objects: "",
    },
    Row {
        module: "decimal",
        plain: "
            BasicContext Clamped ConversionSyntax Decimal DecimalException DecimalTuple
            DefaultContext DivisionByZero DivisionImpossible DivisionUndefined ExtendedContext
            FloatOperation HAVE_CONTEXTVAR HAVE_THREADS Inexact InvalidContext InvalidOperation
            MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN
            ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal
            Underflow setcontext
        ",
        objects: "Context getcontext localcontext",
    },
    Row {
        module: "difflib",
        plain: "IS_CHARACTER_JUNK IS_LINE_JUNK Match get_close_matches",
        objects: "
            Differ HtmlDiff SequenceMatcher context_diff diff_bytes ndiff restore unified_diff
        ",
    },
    Row {
        module: "enum",
        plain: "
            CONFORM CONTINUOUS EJECT Enum EnumCheck Flag FlagBoundary IntEnum IntFlag KEEP
            NAMED_FLAGS ReprEnum STRICT StrEnum UNIQUE auto global_enum global_enum_repr
            global_flag_repr global_str pickle_by_enum_name pickle_by_global_name unique
        ",
        objects: "EnumMeta EnumType member nonmember property verify",
    },
    Row { module: "fractions", plain: "Fraction", objects: "" },
    Row {
        module: "functools",
        plain: "cache cached_property lru_cache reduce total_ordering wraps",
        objects: "cmp_to_key partial singledispatch",
    },
    Row { module: "graphlib", plain: "CycleError", objects: "TopologicalSorter" },
    Row { module: "hashlib", plain: "", objects: "md5 sha1 sha224 sha256 sha384 sha512" },
    Row {
        module: "heapq",
        plain: "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
        objects: "merge",
    },
    Row { module: "html", plain: "escape unescape", objects: "" },
    Row { module: "io", plain: "", objects: "BytesIO StringIO" },
    Row {
        module: "ipaddress",
        plain: "
            AddressValueError IPV4LENGTH IPV6LENGTH IPv4Address IPv4Interface IPv4Network
            IPv6Address IPv6Interface IPv6Network NetmaskValueError get_mixed_type_key ip_address
            ip_interface ip_network v4_int_to_packed v6_int_to_packed
        ",
        objects: "collapse_addresses summarize_address_range",
    },
    Row {
        module: "itertools",
        plain: "",
        objects: "
            accumulate chain combinations combinations_with_replacement compress count cycle
            dropwhile filterfalse groupby islice pairwise permutations product repeat starmap
            takewhile tee zip_longest
        ",
    },
    Row {
        module: "json",
        plain: "JSONDecodeError dump dumps load loads",
        objects: "JSONDecoder JSONEncoder",
    },
    Row { module: "keyword", plain: "iskeyword issoftkeyword kwlist softkwlist", objects: "" },
    Row {
        module: "math",
        plain: "
            acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e
            erf erfc exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf
            isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan
            nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc ulp
        ",
        objects: "",
    },
    Row { module: "numbers", plain: "Complex Integral Number Rational Real", objects: "" },
    Row {
        module: "operator",
        plain: "
            abs add and_ concat contains countOf eq floordiv ge getitem gt indexOf invert is_
            is_not le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth
            xor
        ",
        objects: "itemgetter",
    },
    Row {
        module: "random",
        plain: "
            betavariate choice choices expovariate gauss getrandbits normalvariate randint random
            randrange sample seed shuffle triangular uniform
        ",
        objects: "Random",
    },
    Row {
        module: "re",
        plain: "
            A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern RegexFlag S U
            UNICODE VERBOSE X compile error escape findall fullmatch match purge search split sub
            subn template
        ",
        objects: "finditer",
    },
    Row {
        module: "statistics",
        plain: "
            NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean
            linear_regression mean median median_grouped median_high median_low mode multimode
            pstdev pvariance quantiles stdev variance
        ",
        objects: "",
    },
    Row {
        module: "string",
        plain: "
            ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits
            printable punctuation whitespace
        ",
        objects: "Formatter Template",
    },
    Row {
        module: "struct",
        plain: "calcsize error pack pack_into unpack unpack_from",
        objects: "Struct iter_unpack",
    },
    Row {
        module: "sys",
        plain: "
            byteorder exit float_info int_info maxsize maxunicode stderr stdout version_info
        ",
        objects: "",
    },
    Row { module: "textwrap", plain: "dedent fill indent shorten wrap", objects: "TextWrapper" },
    Row {
        module: "typing",
        plain: "
            Any AnyStr Callable ClassVar Collection Counter DefaultDict Deque Dict Final FrozenSet
            Generator Generic Hashable Iterable Iterator List Literal Mapping MutableMapping
            MutableSequence MutableSet NamedTuple NewType NoReturn Optional OrderedDict Protocol
            Reversible Self Sequence Set Sized SupportsFloat SupportsInt TYPE_CHECKING Text Tuple
            Type TypeAlias TypeVar TypedDict Union cast overload runtime_checkable
        ",
        objects: "",
    },
    Row {
        module: "unicodedata",
        plain: "
            bidirectional category combining decimal decomposition digit east_asian_width
            is_normalized lookup mirrored name normalize numeric unidata_version
        ",
        objects: "UCD ucd_3_2_0",
    },
    Row {
        module: "zlib",
        plain: "
            DEFLATED DEF_BUF_SIZE DEF_MEM_LEVEL MAX_WBITS ZLIB_RUNTIME_VERSION ZLIB_VERSION
            Z_BEST_COMPRESSION Z_BEST_SPEED Z_BLOCK Z_DEFAULT_COMPRESSION Z_DEFAULT_STRATEGY
            Z_FILTERED Z_FINISH Z_FIXED Z_FULL_FLUSH Z_HUFFMAN_ONLY Z_NO_COMPRESSION Z_NO_FLUSH
            Z_PARTIAL_FLUSH Z_RLE Z_SYNC_FLUSH Z_TREES adler32 compress crc32 decompress error
        ",
        objects: "compressobj decompressobj",
    },
];
