"""Names of PyTorch's module ``torch`` that the model does not have.

A test compares the list with an installed PyTorch. For a name that neither has, a similar name may help.
"""

from __future__ import annotations

_NAMES = """
    AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig BenchmarkExecutionStats
    Block BoolType BufferDict CallStack Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType
    ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType
    DictType DisableTorchFunction DisableTorchFunctionSubclass EnumType ErrorReport Event
    ExcludeDispatchKeyGuard ExecutionPlan FatalError FileCheck FloatType FunctionSchema Future FutureType
    Gradient Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType JITException ListType
    LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoneType NoopLogger NumberType OperatorInfo
    OptionalType PRIVATE_OPS ParameterDict PyObjectType PyTorchFileReader PyTorchFileWriter QInt32Storage
    QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage RRefType SUM ScriptClass ScriptClassFunction
    ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator
    ScriptMethod ScriptModule ScriptModuleSerializer ScriptObject ScriptObjectProperty
    SerializationStorageContext StaticModule Storage StorageBase Stream StreamObjType StringType SymBool
    SymBoolType SymFloat SymInt SymIntType TensorType ThroughputBenchmark TracingState TupleType Type
    USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH UnionType Use Value ao batch_norm_backward_elemt
    batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts
    batch_norm_stats batch_norm_update_stats bcomplex32 bit bits16 bits1x8 bits2x4 bits4x2 bits8 ccol_indices_copy chalf
    choose_qparams_optimized classes classproperty col_indices_copy complex32 cond cpp crow_indices_copy
    cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution_add_relu cudnn_convolution_relu
    cudnn_grid_sampler dequantize detach_ dsmm empty_quantized export fake_quantize_per_channel_affine
    fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
    fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
    fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz
    float8_e5m2 float8_e5m2fnuz float8_e8m0fnu fork from_dlpack from_file fused_moving_avg_obs_fake_quant
    futures get_file_path hash_tensor hsmm hspmm import_ir_module import_ir_module_from_buffer indices_copy
    init_num_threads int1 int2 int3 int4 int5 int6 int7 int_repr is_vulkan_available
    merge_type_from_type_comment miopen_batch_norm miopen_convolution miopen_convolution_add_relu
    miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
    mkldnn_adaptive_avg_pool2d mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d monitor mps
    mtia multiprocessing native_norm nested onnx package parse_ir parse_schema parse_type_comment
    per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine
    per_tensor_symmetric prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12
    q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qint32 qint8 qscheme
    quantization quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm
    quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d
    quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell quasirandom
    quint2x4 quint4x2 quint8 resize_as_sparse_ row_indices_copy saddmm segment_reduce slice_inverse smm sparse
    sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
    sparse_csr_tensor spmm sspaddmm sym_constrain_range sym_constrain_range_for_size sym_fresh_size
    thread_safe_generator to_dlpack torch_version uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7
    unify_type_list values_copy wait while_loop windows xpu
"""

LACKING_NAMES = frozenset(_NAMES.split())
