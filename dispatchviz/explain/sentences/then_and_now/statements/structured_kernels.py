"""Older statements about structured kernels."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Source, seen

META, OUTPUT, IMPL = seen(ev.MetaEntered), seen(ev.OutputAllocated), seen(ev.ImplEntered)
META_OF_ADD = seen(ev.MetaEntered, function="structured_add_Tensor::meta")
IMPL_OF_ADD = seen(ev.ImplEntered, function="structured_ufunc_add_*::impl")
WRAPPER = seen(ev.KernelEntered, kernel="wrapper_*_add_Tensor")

STRUCTURED_KERNELS = (
    PastStatement(
        "native-add",
        "The kernel of add",
        "2020",
        "native::add is registered for CPU and for CUDA.",
        "no longer true",
        "add is structured. The registered kernels are wrapper_CPU_add_Tensor and wrapper_CUDA_add_Tensor, which call "
        "structured_ufunc_add_CPU::impl and structured_ufunc_add_CUDA::impl. Today, at::native::add belongs to "
        "add.Scalar.",
        Source("build/aten/src/ATen/ops/add_native.h", "structured_ufunc_add_CUDA"),
        (WRAPPER, IMPL_OF_ADD),
        "examples/forum.py",
    ),
    PastStatement(
        "meta-and-impl",
        "meta and impl",
        "later",
        "A structured kernel has a meta function, which checks arguments and computes sizes, and an impl for each "
        "backend. The functional, the in-place and the out variant are built from these and differ in set_output.",
        "still true",
        "278 families of operators are structured. A meta function calls set_output_strided, set_output_raw_strided "
        "or set_output_contiguous, depending on the strides that its impl can handle.",
        Source("aten/src/ATen/TensorMeta.h", "set_output_raw_strided"),
        (META, OUTPUT, IMPL),
        "examples/forum.py",
    ),
    PastStatement(
        "meta-of-add",
        "The meta function of add",
        "later",
        "TORCH_META_FUNC2(add, Tensor) calls build_borrowing_binary_op(maybe_get_output(), self, other) and "
        "alpha_check (BinaryOps.cpp).",
        "still true",
        "This is structured_add_Tensor::meta. alpha_check refuses a fractional alpha for integers.",
        Source("aten/src/ATen/native/BinaryOps.h", "alpha_check"),
        (META_OF_ADD,),
        "examples/forum.py",
    ),
    PastStatement(
        "impl-of-add",
        "The impl of add",
        "later",
        "TORCH_IMPL_FUNC(add_out) calls add_stub(device_type(), *this, alpha) (BinaryOps.cpp).",
        "no longer true",
        "There is no structured_add_out. From ufunc_inner_loop, the generator writes structured_ufunc_add_CPU::impl "
        "(UfuncCPU_add.cpp), which calls add_stub. sub still has a hand-written impl, structured_sub_out::impl.",
        Source("build/aten/src/ATen/UfuncCPU_add.cpp", "structured_ufunc_add_CPU"),
        (IMPL_OF_ADD,),
        "examples/forum.py",
    ),
    PastStatement(
        "classes-of-add",
        "The classes of add",
        "later",
        "structured_add_Tensor is a TensorIteratorBase (NativeMetaFunctions.h), structured_add_out is below it "
        "(NativeFunctions.h), and RegisterCPU.cpp has structured_ufunc_add_CPU with _functional, _inplace and _out.",
        "true with a change",
        "structured_add_Tensor is in ops/add_meta.h, and structured_ufunc_add_CPU, directly below it, is in "
        "ops/add_native.h. The three variants are in RegisterCPU_0.cpp.",
        Source("build/aten/src/ATen/ops/add_meta.h", "structured_add_Tensor"),
        (META_OF_ADD, WRAPPER, IMPL_OF_ADD),
        "examples/forum.py",
    ),
    PastStatement(
        "overrides-of-the-variants",
        "The overrides of the variants",
        "later",
        "Each of the three overrides set_output_strided, set_output_raw_strided and maybe_get_output, and keeps "
        "outputs_ and proxy_outputs_. create_out creates an output.",
        "still true",
        "But only the functional variant calls create_out. It keeps no proxy_outputs_, because its output always fits "
        "impl. In the same place, the in-place variant calls check_inplace and the out variant calls resize_out.",
        Source("torchgen/dest/register_dispatch_key.py", "create_out"),
        (OUTPUT,),
        "examples/forum.py",
    ),
    PastStatement(
        "names-of-dimensions",
        "Names of dimensions",
        "later",
        "The set_output functions take names and pass them to namedinference::propagate_names.",
        "no longer true",
        "Named tensors are gone. The functions take an index, sizes, strides and options.",
        Source("aten/src/ATen/TensorMeta.h", "set_output_strided"),
        (OUTPUT,),
        "examples/forum.py",
    ),
    PastStatement(
        "proxies",
        "Proxies",
        "later",
        "The in-place and the out variant may create a proxy. outputs_[0].copy_(*proxy_outputs_[0]) then writes it "
        "back. add.Tensor, add.out and add_.Tensor are registered for CPU.",
        "still true",
        "set_output_strided creates a proxy if the output has other strides than the impl needs. "
        "set_output_raw_strided creates none, and add uses the latter.",
        Source("torchgen/dest/register_dispatch_key.py", "proxy_outputs_"),
        (seen(ev.ProxyCopied), seen(ev.OutputAllocated, variant="out"), seen(ev.OutputAllocated, variant="in-place")),
        '-c "import torch; torch.linalg.solve(torch.eye(2), torch.ones(2))"',
    ),
    PastStatement(
        "loop-of-add",
        "The loop of add",
        "later",
        "The stub ends in UfuncCPUKernel_add.cpp: AT_DISPATCH_SWITCH(iter.common_dtype(), ...), and cpu_kernel_vec "
        "with a lambda for numbers and one for Vectorized.",
        "still true",
        "For x86, the file is compiled three times: for AVX2, for AVX512 and for neither.",
        Source("torchgen/dest/ufunc.py", "AT_DISPATCH_SWITCH"),
        (IMPL_OF_ADD,),
        "examples/forum.py",
    ),
    PastStatement(
        "breakpoint-at-impl",
        "A breakpoint at impl",
        "later",
        "In a debug build (USE_CUDA=0 DEBUG=1), gdb or lldb stops at structured_ufunc_add_CPU::impl and shows the "
        "whole stack.",
        "still true",
        "An installed release build has the function too, under the same name. Its stack lacks the functions that the "
        "compiler has inlined.",
        Source("build/aten/src/ATen/UfuncCPU_add.cpp", "structured_ufunc_add_CPU"),
        (IMPL_OF_ADD,),
        "examples/chains/add.py",
    ),
)
