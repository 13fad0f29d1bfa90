"""What was said of structured kernels."""

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
        "native::add is registered to CPU and to CUDA.",
        "no longer so",
        "add is structured: wrapper_CPU_add_Tensor and wrapper_CUDA_add_Tensor are registered, which call "
        "structured_ufunc_add_CPU::impl and structured_ufunc_add_CUDA::impl. at::native::add is add.Scalar's today.",
        Source("build/aten/src/ATen/ops/add_native.h", "structured_ufunc_add_CUDA"),
        (WRAPPER, IMPL_OF_ADD),
        "examples/forum.py",
    ),
    PastStatement(
        "meta-and-impl",
        "meta and impl",
        "later",
        "A structured kernel is a meta function, which checks and computes sizes, and an impl for each backend. Of "
        "these a functional, an in-place and an out variant are made, which differ in set_output.",
        "still so",
        "275 families of operators are structured. A meta function calls set_output_strided, "
        "set_output_raw_strided or set_output_contiguous, by what its impl can do with strides.",
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
        "still so",
        "This is structured_add_Tensor::meta. alpha_check is why a fraction as alpha of integers is refused.",
        Source("aten/src/ATen/native/BinaryOps.h", "alpha_check"),
        (META_OF_ADD,),
        "examples/forum.py",
    ),
    PastStatement(
        "impl-of-add",
        "The impl of add",
        "later",
        "TORCH_IMPL_FUNC(add_out) calls add_stub(device_type(), *this, alpha) (BinaryOps.cpp).",
        "no longer so",
        "There is no structured_add_out. Out of ufunc_inner_loop the generator writes structured_ufunc_add_CPU::impl "
        "(UfuncCPU_add.cpp), which calls add_stub. sub still has an impl by hand, structured_sub_out::impl.",
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
        "so with a change",
        "structured_add_Tensor is in ops/add_meta.h, structured_ufunc_add_CPU directly below it in ops/add_native.h, "
        "and the three variants are in RegisterCPU_0.cpp.",
        Source("build/aten/src/ATen/ops/add_meta.h", "structured_add_Tensor"),
        (META_OF_ADD, WRAPPER, IMPL_OF_ADD),
        "examples/forum.py",
    ),
    PastStatement(
        "overrides-of-the-variants",
        "What the variants override",
        "later",
        "Each of the three overrides set_output_strided, set_output_raw_strided and maybe_get_output, and keeps "
        "outputs_ and proxy_outputs_; create_out makes an output.",
        "still so",
        "But only the functional one calls create_out, and it keeps no proxy_outputs_: its output is as impl wants it. "
        "In the same place the in-place one calls check_inplace, and the out one resize_out.",
        Source("torchgen/dest/register_dispatch_key.py", "create_out"),
        (OUTPUT,),
        "examples/forum.py",
    ),
    PastStatement(
        "names-of-dimensions",
        "Names of dimensions",
        "later",
        "The set_output functions take names, and hand them to namedinference::propagate_names.",
        "no longer so",
        "Named tensors are gone. The functions take an index, sizes, strides and options.",
        Source("aten/src/ATen/TensorMeta.h", "set_output_strided"),
        (OUTPUT,),
        "examples/forum.py",
    ),
    PastStatement(
        "proxies",
        "Proxies",
        "later",
        "In the in-place and the out variant a proxy may have been made; then outputs_[0].copy_(*proxy_outputs_[0]) "
        "writes it back. add.Tensor, add.out and add_.Tensor are registered at CPU.",
        "still so",
        "set_output_strided makes a proxy if the output has other strides than the impl asks for; "
        "set_output_raw_strided makes none. add asks for none.",
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
        "still so",
        "The file is compiled three times for x86: for AVX2, for AVX512 and without either.",
        Source("torchgen/dest/ufunc.py", "AT_DISPATCH_SWITCH"),
        (IMPL_OF_ADD,),
        "examples/forum.py",
    ),
    PastStatement(
        "breakpoint-at-impl",
        "A breakpoint at impl",
        "later",
        "In a debug build (USE_CUDA=0 DEBUG=1) gdb or lldb stops at structured_ufunc_add_CPU::impl and shows the whole "
        "stack.",
        "still so",
        "The function is in an installed release build too, with its name. Functions that the compiler has inlined are "
        "then missing in the stack.",
        Source("build/aten/src/ATen/UfuncCPU_add.cpp", "structured_ufunc_add_CPU"),
        (IMPL_OF_ADD,),
        "examples/chains/add.py",
    ),
)
