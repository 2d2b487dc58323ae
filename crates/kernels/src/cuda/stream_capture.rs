//! Graphs of the driver: what is queued on a stream between two calls, to be queued again as a whole.
//!
//! A context is current when these are called.

#![expect(unsafe_code, reason = "calls into the driver")]

use std::ptr;

use cudarc::driver::sys as cu;

use super::driver::Graph;
use super::error::DeviceResult;
use super::nvidia::done;

pub(super) fn begin(queue: cu::CUstream) -> DeviceResult<()> {
    let mode = cu::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    // SAFETY: the stream was created and is never destroyed.
    done("cuStreamBeginCapture", unsafe { cu::cuStreamBeginCapture_v2(queue, mode) })
}

pub(super) fn end(queue: cu::CUstream) -> DeviceResult<Graph> {
    let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the stream is being captured, and the pointers are ours; a graph is destroyed once.
    unsafe {
        done("cuStreamEndCapture", cu::cuStreamEndCapture(queue, &raw mut graph))?;
        let made = cu::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0);
        let _ = cu::cuGraphDestroy(graph);
        done("cuGraphInstantiate", made)?;
    }
    Ok(Graph(executable as usize))
}

pub(super) fn replay(graph: Graph, queue: cu::CUstream) -> DeviceResult<()> {
    // SAFETY: the graph was made by `end`; what it uses is held beside it.
    done("cuGraphLaunch", unsafe { cu::cuGraphLaunch(graph.0 as cu::CUgraphExec, queue) })
}

pub(super) fn release(graph: Graph) {
    // SAFETY: the graph was made by `end`, its work has ended, and it is given back once.
    let _ = unsafe { cu::cuGraphExecDestroy(graph.0 as cu::CUgraphExec) };
}
