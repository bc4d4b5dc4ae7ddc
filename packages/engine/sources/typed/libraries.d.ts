/** Declares the parts of the libraries for Avro and Arrow that are used here. */
declare module 'avsc' {
  export interface Type {
    /** Decodes a value. The `offset` is -1 if the buffer holds no whole value. */
    decode(buffer: Buffer, from: number): { value: unknown; offset: number }
    toBuffer(value: unknown): Buffer
  }

  interface LongMethods {
    fromBuffer(buffer: Buffer): bigint
    toBuffer(value: bigint): Buffer
    fromJSON: (value: unknown) => bigint
    toJSON: (value: bigint) => unknown
    isValid: (value: unknown) => boolean
    compare: (one: bigint, other: bigint) => -1 | 0 | 1
  }

  const avro: {
    Type: {
      forSchema(
        schema: unknown,
        options: {
          registry?: Record<string, Type>
          /** Sees each part of a schema first, with these options. */
          typeHook?(schema: { type?: unknown } | string | unknown[], options: object): Type | undefined
          wrapUnions?: boolean
        },
      ): Type
    }
    streams: {
      BlockEncoder: new (
        schema: unknown,
        options: {
          codec?: string
          codecs?: Record<string, (bytes: Buffer, done: (error: null, packed: Buffer) => void) => void>
        },
      ) => import('node:stream').Duplex
    }
    types: { LongType: { __with(methods: LongMethods): Type } }
  }
  export default avro
}

declare module 'hysnappy' {
  export function snappyUncompress(bytes: Uint8Array, length: number): Uint8Array
  export function snappyCompress(bytes: Uint8Array): Uint8Array
}

declare module 'lz4js' {
  const lz4: {
    decompress(frame: Uint8Array): Uint8Array
    compress(bytes: Uint8Array): Uint8Array
  }
  export default lz4
}

declare module 'apache-arrow' {
  export enum Type {
    Null,
    Int,
    Float,
    Binary,
    Utf8,
    Bool,
    Decimal,
    Date,
    Time,
    Timestamp,
    Interval,
    List,
    Struct,
    Union,
    FixedSizeBinary,
    FixedSizeList,
    Map,
    Duration,
    LargeBinary,
    LargeUtf8,
    LargeList,
    BinaryView,
    Utf8View,
    Dictionary,
  }

  export enum CompressionType {
    LZ4_FRAME,
    ZSTD,
  }

  /** A type with its fields. `typeId` decides which fields it has. */
  export interface DataType {
    typeId: Type
    children?: Field[] | null
    bitWidth?: number
    isSigned?: boolean
    precision?: number
    scale?: number
    unit?: number
    timezone?: string | null
    listSize?: number
    /** The dictionary of a column that has one. */
    dictionary?: DataType
    toString(): string
  }

  export interface Field {
    name: string
    type: DataType
  }

  export interface Data {
    type: DataType
    length: number
    children: Data[]
    dictionary?: Vector
    values: ArrayLike<number> & ArrayLike<bigint>
    valueOffsets: ArrayLike<number> | ArrayLike<bigint>
    getValid(index: number): boolean
  }

  export interface Vector {
    data: readonly Data[]
    length: number
    get(index: number): unknown
  }

  export interface RecordBatch {
    numRows: number
    data: Data
  }

  export interface Reader extends AsyncIterable<RecordBatch> {
    schema: { fields: Field[] }
    open(): Promise<Reader>
    cancel(): Promise<void>
  }

  export const RecordBatchReader: { from(file: unknown): Promise<Reader> }
  export const compressionRegistry: {
    set(
      type: CompressionType,
      codec: { decode(bytes: Uint8Array): Uint8Array; encode?(bytes: Uint8Array): Uint8Array },
    ): void
  }
  export function makeVector(data: Data): Vector

  /** The types and the writer that only tests use. */
  export const Bool: new () => DataType
  export const Decimal: new (scale: number, precision: number) => DataType
  export const DateDay: new () => DataType
  export const Dictionary: new (values: DataType, keys: DataType) => DataType
  export const DurationMillisecond: new () => DataType
  export const Float32: new () => DataType
  export const Float64: new () => DataType
  export const Int32: new () => DataType
  export const Int64: new () => DataType
  export const Uint8: new () => DataType
  export const List: new (child: Field) => DataType
  export const Struct: new (children: Field[]) => DataType
  export const Binary: new () => DataType
  export const Utf8: new () => DataType
  export const TimeMicrosecond: new () => DataType
  export const TimestampMicrosecond: new (zone?: string) => DataType
  export const TimestampNanosecond: new () => DataType
  export const IntervalYearMonth: new () => DataType
  export const Field: new (name: string, type: DataType, nullable: boolean) => Field
  export const Table: new (columns: Record<string, Vector>) => object
  export function makeData(parts: Record<string, unknown> & { type: DataType }): Data
  export function vectorFromArray(values: readonly unknown[], type: DataType): Vector
  export function tableToIPC(table: object, form: 'file' | 'stream', packing?: CompressionType): Uint8Array
}
