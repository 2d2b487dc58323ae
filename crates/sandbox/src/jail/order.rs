//! What the supervisor sends a zygote: first how its children are to be held, then one order for
//! each child.
//!
//! Both are plain memory of a fixed layout on a socket between two processes of one binary, so the
//! version is the binary's own; [`MAGIC`] tells one from anything else.

/// The first number of every message.
pub(crate) const MAGIC: u32 = 0x7768_6574;

/// Instructions of the zygote's system call filter, at most.
pub(crate) const FILTER_MAX: usize = 512;
/// Instructions of a child's, at most.
pub(crate) const CHILD_FILTER_MAX: usize = 128;
/// Bytes of one path with its final zero, at most.
pub(crate) const PATH_MAX: usize = 256;
/// Descriptors that come with an order, in this order.
pub(crate) const DESCRIPTORS: usize = 4;

/// One instruction of a system call filter, as the kernel has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// The jump if the condition holds.
    pub jump_true: u8,
    /// The jump if it does not.
    pub jump_false: u8,
    /// The operand.
    pub k: u32,
}

/// The terms under which all children of a zygote are jailed.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Terms {
    pub(crate) magic: u32,
    /// 2: fresh namespaces; less: none.
    pub(crate) level: u32,
    /// What a child's own layer of Landlock takes away: files, net and scopes as this kernel knows
    /// them; 0 where there is none, or where the zygote has shut it for all its children.
    pub(crate) landlock_files: u64,
    pub(crate) landlock_net: u64,
    pub(crate) landlock_scopes: u64,
    /// 1: the process that forks programs must be able to see their open files.
    pub(crate) shows_files: u32,
    /// User and group outside the child's own user namespace.
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The path of the folder that the child may write to, with a trailing zero byte.
    pub(crate) scratch: [u8; PATH_MAX],
    /// The filter that the zygote installs.
    pub(crate) filter_length: u32,
    pub(crate) filter: [Instruction; FILTER_MAX],
    /// The filter that a child adds.
    pub(crate) child_filter_length: u32,
    pub(crate) child_filter: [Instruction; CHILD_FILTER_MAX],
    /// Which of its instructions' operands are to become the child's own process id, counted from
    /// 0; `u32::MAX` ends the list.
    pub(crate) own_pid_at: [u32; 8],
}

/// One child.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Order {
    pub(crate) magic: u32,
    /// The kind of the child; returned to the interpreter.
    pub(crate) kind: u32,
    /// Whole seconds of CPU after which the kernel kills it.
    pub(crate) cpu: u64,
    /// Bytes of private memory.
    pub(crate) data: u64,
    /// Bytes of address space.
    pub(crate) address_space: u64,
    /// Bytes of one file.
    pub(crate) file: u64,
    /// Bytes of the stack.
    pub(crate) stack: u64,
    /// Processes and threads; 0 leaves them as they are.
    pub(crate) threads: u64,
    /// Bytes of the private scratch file system.
    pub(crate) scratch: u64,
    /// Bytes of a core dump: 1, or 0 where the machine allows no more.
    pub(crate) core: u64,
}

/// The child's end of its channel to the supervisor.
pub(crate) const CHANNEL: i32 = 3;

/// The reply of a zygote.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchReply {
    pub(crate) magic: u32,
    /// The child's process id, or a negative error number.
    pub(crate) pid: i32,
}

impl Terms {
    /// Terms that hold nothing; to be filled in.
    pub(crate) const fn empty() -> Self {
        let instruction = Instruction { code: 0, jump_true: 0, jump_false: 0, k: 0 };
        Self {
            magic: MAGIC,
            level: 0,
            landlock_files: 0,
            landlock_net: 0,
            landlock_scopes: 0,
            shows_files: 0,
            uid: 0,
            gid: 0,
            scratch: [0; PATH_MAX],
            filter_length: 0,
            filter: [instruction; FILTER_MAX],
            child_filter_length: 0,
            child_filter: [instruction; CHILD_FILTER_MAX],
            own_pid_at: [u32::MAX; 8],
        }
    }
}
