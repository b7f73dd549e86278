"""The tables of a `.tflite` file: names, fields in id order, and types. Facts of the public TFLite schema, version 3.

One notation serves the verifier, the reader and the writer. A field is `name:type`; `u8` to `i64`, `f32` and `bool`
are scalars, `str` is a string, `Name` a table, `[x]` a vector, `<Name` a union, which takes two field ids: its type,
then its value. Operators whose option tables are not listed are walked as opaque tables.
"""

from __future__ import annotations

from dataclasses import dataclass

IDENTIFIER = b"TFL3"

SCALARS = {"bool": 1, "u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}
"""Width in bytes of each scalar type."""

_TABLES = """
Model version:u32 operator_codes:[OperatorCode] subgraphs:[SubGraph] description:str buffers:[Buffer] \
metadata_buffer:[i32] metadata:[Metadata] signature_defs:[SignatureDef]
OperatorCode deprecated_builtin_code:i8 custom_code:str version:i32 builtin_code:i32
SubGraph tensors:[Tensor] inputs:[i32] outputs:[i32] operators:[Operator] name:str debug_metadata_index:i32
Tensor shape:[i32] type:i8 buffer:u32 name:str quantization:QuantizationParameters is_variable:bool \
sparsity:SparsityParameters shape_signature:[i32] has_rank:bool variant_tensors:[VariantSubType]
QuantizationParameters min:[f32] max:[f32] scale:[f32] zero_point:[i64] details:<QuantizationDetails \
quantized_dimension:i32
CustomQuantization custom:[u8]
SparsityParameters traversal_order:[i32] block_map:[i32] dim_metadata:[DimensionMetadata]
DimensionMetadata format:i8 dense_size:i32 array_segments:<SparseIndexVector array_indices:<SparseIndexVector
Int32Vector values:[i32]
Uint16Vector values:[u16]
Uint8Vector values:[u8]
VariantSubType shape:[i32] type:i8 has_rank:bool
Operator opcode_index:u32 inputs:[i32] outputs:[i32] builtin_options:<BuiltinOptions custom_options:[u8] \
custom_options_format:i8 mutating_variable_inputs:[bool] intermediates:[i32] large_custom_options_offset:u64 \
large_custom_options_size:u64 builtin_options_2:<BuiltinOptions2 debug_metadata_index:i32
Buffer data:[u8] offset:u64 size:u64
Metadata name:str buffer:u32
SignatureDef inputs:[TensorMap] outputs:[TensorMap] signature_key:str deprecated_tag:str subgraph_index:u32
TensorMap name:str tensor_index:u32
Conv2DOptions padding:i8 stride_w:i32 stride_h:i32 fused_activation_function:i8 dilation_w_factor:i32 \
dilation_h_factor:i32 quantized_bias_type:i8
DepthwiseConv2DOptions padding:i8 stride_w:i32 stride_h:i32 depth_multiplier:i32 fused_activation_function:i8 \
dilation_w_factor:i32 dilation_h_factor:i32
Pool2DOptions padding:i8 stride_w:i32 stride_h:i32 filter_width:i32 filter_height:i32 fused_activation_function:i8
FullyConnectedOptions fused_activation_function:i8 weights_format:i8 keep_num_dims:bool \
asymmetric_quantize_inputs:bool quantized_bias_type:i8
SoftmaxOptions beta:f32
AddOptions fused_activation_function:i8 pot_scale_int16:bool
ReshapeOptions new_shape:[i32]
SubOptions fused_activation_function:i8 pot_scale_int16:bool
MulOptions fused_activation_function:i8
TransposeConvOptions padding:i8 stride_w:i32 stride_h:i32 fused_activation_function:i8 quantized_bias_type:i8
LeakyReluOptions alpha:f32
SqueezeOptions squeeze_dims:[i32]
ExpandDimsOptions
PadOptions
PadV2Options
ReducerOptions keep_dims:bool
ConcatenationOptions axis:i32 fused_activation_function:i8
SplitOptions num_splits:i32
SplitVOptions num_splits:i32
StridedSliceOptions begin_mask:i32 end_mask:i32 ellipsis_mask:i32 new_axis_mask:i32 shrink_axis_mask:i32 offset:bool
TransposeOptions
PackOptions values_count:i32 axis:i32
UnpackOptions num:i32 axis:i32
GatherOptions axis:i32 batch_dims:i32
QuantizeOptions
DequantizeOptions
ResizeNearestNeighborOptions align_corners:bool half_pixel_centers:bool
ResizeBilinearOptions new_height:i32 new_width:i32 align_corners:bool half_pixel_centers:bool
ArgMaxOptions output_type:i8
MaximumMinimumOptions
BatchMatMulOptions adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool
SVDFOptions rank:i32 fused_activation_function:i8 asymmetric_quantize_inputs:bool
UnidirectionalSequenceLSTMOptions fused_activation_function:i8 cell_clip:f32 proj_clip:f32 time_major:bool \
asymmetric_quantize_inputs:bool diagonal_recurrent_tensors:bool
HardSwishOptions
ShapeOptions out_type:i8
VarHandleOptions container:str shared_name:str
ReadVariableOptions
AssignVariableOptions
CallOnceOptions init_subgraph_index:i32
SpaceToBatchNDOptions
BatchToSpaceNDOptions
SpaceToDepthOptions block_size:i32
DepthToSpaceOptions block_size:i32
MirrorPadOptions mode:i8
AbsOptions
ExpOptions
SquaredDifferenceOptions
DivOptions fused_activation_function:i8
L2NormOptions fused_activation_function:i8
LogSoftmaxOptions
CastOptions in_data_type:i8 out_data_type:i8
FillOptions
SelectV2Options
EqualOptions
NotEqualOptions
GreaterOptions
GreaterEqualOptions
LessOptions
LessEqualOptions
BroadcastToOptions
ReverseV2Options
GatherNdOptions
AddNOptions
"""

UNIONS: dict[str, dict[int, str]] = {
    "QuantizationDetails": {1: "CustomQuantization"},
    "SparseIndexVector": {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"},
    "BuiltinOptions2": {},
    "BuiltinOptions": {
        1: "Conv2DOptions",
        2: "DepthwiseConv2DOptions",
        5: "Pool2DOptions",
        6: "SVDFOptions",
        8: "FullyConnectedOptions",
        9: "SoftmaxOptions",
        10: "ConcatenationOptions",
        11: "AddOptions",
        12: "L2NormOptions",
        15: "ResizeBilinearOptions",
        17: "ReshapeOptions",
        19: "SpaceToDepthOptions",
        21: "MulOptions",
        22: "PadOptions",
        23: "GatherOptions",
        24: "BatchToSpaceNDOptions",
        25: "SpaceToBatchNDOptions",
        26: "TransposeOptions",
        27: "ReducerOptions",
        28: "SubOptions",
        29: "DivOptions",
        30: "SqueezeOptions",
        32: "StridedSliceOptions",
        33: "ExpOptions",
        35: "SplitOptions",
        36: "LogSoftmaxOptions",
        37: "CastOptions",
        38: "DequantizeOptions",
        39: "MaximumMinimumOptions",
        40: "ArgMaxOptions",
        41: "LessOptions",
        43: "PadV2Options",
        44: "GreaterOptions",
        45: "GreaterEqualOptions",
        46: "LessEqualOptions",
        49: "TransposeConvOptions",
        52: "ExpandDimsOptions",
        53: "EqualOptions",
        54: "NotEqualOptions",
        55: "ShapeOptions",
        59: "PackOptions",
        64: "UnpackOptions",
        68: "FillOptions",
        71: "UnidirectionalSequenceLSTMOptions",
        74: "ResizeNearestNeighborOptions",
        75: "LeakyReluOptions",
        76: "SquaredDifferenceOptions",
        77: "MirrorPadOptions",
        78: "AbsOptions",
        79: "SplitVOptions",
        81: "ReverseV2Options",
        82: "AddNOptions",
        83: "GatherNdOptions",
        89: "QuantizeOptions",
        91: "HardSwishOptions",
        94: "DepthToSpaceOptions",
        98: "SelectV2Options",
        101: "BatchMatMulOptions",
        103: "CallOnceOptions",
        104: "BroadcastToOptions",
        111: "VarHandleOptions",
        112: "ReadVariableOptions",
        113: "AssignVariableOptions",
    },
}
"""Tables a union may hold, by the value of its type field."""

OPTIONS_OF: dict[str, str] = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "SOFTMAX": "SoftmaxOptions",
    "ADD": "AddOptions",
    "RESHAPE": "ReshapeOptions",
    "SUB": "SubOptions",
    "MUL": "MulOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "SQUEEZE": "SqueezeOptions",
    "EXPAND_DIMS": "ExpandDimsOptions",
    "PAD": "PadOptions",
    "PADV2": "PadV2Options",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "CONCATENATION": "ConcatenationOptions",
    "SPLIT": "SplitOptions",
    "SPLIT_V": "SplitVOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
    "TRANSPOSE": "TransposeOptions",
    "PACK": "PackOptions",
    "UNPACK": "UnpackOptions",
    "GATHER": "GatherOptions",
    "QUANTIZE": "QuantizeOptions",
    "DEQUANTIZE": "DequantizeOptions",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "ARG_MAX": "ArgMaxOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "SVDF": "SVDFOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "HARD_SWISH": "HardSwishOptions",
    "SHAPE": "ShapeOptions",
    "VAR_HANDLE": "VarHandleOptions",
    "READ_VARIABLE": "ReadVariableOptions",
    "ASSIGN_VARIABLE": "AssignVariableOptions",
    "CALL_ONCE": "CallOnceOptions",
    "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions",
    "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions",
    "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "MIRROR_PAD": "MirrorPadOptions",
    "ABS": "AbsOptions",
    "EXP": "ExpOptions",
    "SQUARED_DIFFERENCE": "SquaredDifferenceOptions",
    "DIV": "DivOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "LOG_SOFTMAX": "LogSoftmaxOptions",
    "CAST": "CastOptions",
    "FILL": "FillOptions",
    "SELECT_V2": "SelectV2Options",
    "EQUAL": "EqualOptions",
    "NOT_EQUAL": "NotEqualOptions",
    "GREATER": "GreaterOptions",
    "GREATER_EQUAL": "GreaterEqualOptions",
    "LESS": "LessOptions",
    "LESS_EQUAL": "LessEqualOptions",
    "BROADCAST_TO": "BroadcastToOptions",
    "REVERSE_V2": "ReverseV2Options",
    "GATHER_ND": "GatherNdOptions",
    "ADD_N": "AddNOptions",
}
"""The option table each operator carries."""

FORCED_ALIGNMENT = {("Buffer", "data"): 16, ("CustomQuantization", "custom"): 16}
"""Byte vectors whose first element the schema aligns further than its type needs."""


@dataclass(frozen=True)
class Field:
    """One field of a table.

    `kind` is `scalar`, `string`, `table`, `vector` or `union`; `element` the scalar, table or union it holds; `nested`
    how a vector's elements are: `scalar`, `string` or `table`.
    """

    id: int
    name: str
    kind: str
    element: str
    nested: str = ""

    @property
    def width(self) -> int:
        """Bytes the field takes inside its table (the value, for a union)."""
        return SCALARS[self.element] if self.kind == "scalar" else 4


def _field(number: int, text: str) -> Field:
    name, _, kind = text.partition(":")
    if kind in SCALARS:
        return Field(number, name, "scalar", kind)
    if kind == "str":
        return Field(number, name, "string", "")
    if kind.startswith("["):
        inner = kind[1:-1]
        nested = "scalar" if inner in SCALARS else "string" if inner == "str" else "table"
        return Field(number, name, "vector", inner, nested)
    if kind.startswith("<"):
        return Field(number + 1, name, "union", kind[1:])
    return Field(number, name, "table", kind)


def _parse(text: str) -> dict[str, tuple[Field, ...]]:
    tables = {}
    for line in text.strip().splitlines():
        table, *specs = line.split()
        fields: list[Field] = []
        for spec in specs:
            fields.append(_field(fields[-1].id + 1 if fields else 0, spec))
        tables[table] = tuple(fields)
    return tables


TABLES: dict[str, tuple[Field, ...]] = _parse(_TABLES)
"""Fields of each known table. A union's id is that of its value; its type has the id before."""
