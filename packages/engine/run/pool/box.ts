/**
 * The box of a node is the memory of its container or unit (cgroups), or of the machine. All analyses together get no
 * more. An analysis that the system kills because memory runs out runs once more with half of its memory, so that it
 * spills to disk. If that fails, the error names the memory of the box.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import type { Caps, RunResult, Task } from '../protocol.ts'
import type { Box, PoolLog } from './contract.ts'
import { type Ending, failed, resultOf } from './ending.ts'

/** The bytes of memory of a node under load with a warm analysis process before its task. */
const NODE_BYTES = 200_000_000
const PROCESS_BYTES = 120_000_000
/** The bytes of memory that each analysis should have before another one may run beside it. */
const ANALYSIS_BYTES = 250_000_000
/** The least bytes of memory of an analysis. */
const LEAST_BYTES = 64_000_000

/** The box of this machine. `constrainedMemory` is 0 or beyond all memory if nothing bounds it. */
export const HERE: Box = {
  memory_bytes: Math.min(process.constrainedMemory() || totalmem(), totalmem()),
  kills() {
    try {
      const counted = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'latin1'))
      return counted && Number(counted[1])
    } catch {
      return null
    }
  },
}

/** Returns the default number of analyses at a time: one for each processor, as far as the memory reaches. */
export function workersHere({ memory_bytes } = HERE, processors = availableParallelism()): number {
  const room = Math.floor((memory_bytes - NODE_BYTES - PROCESS_BYTES) / (PROCESS_BYTES + ANALYSIS_BYTES))
  return Math.max(1, Math.min(processors, room))
}

/** Returns the memory in bytes that each of `size` analyses may use beside a process that is started ahead. */
export function memoryIn({ memory_bytes }: Box, size: number): number {
  const room = memory_bytes - NODE_BYTES - (size + 1) * PROCESS_BYTES
  return Math.max(LEAST_BYTES, Math.floor(room / size))
}

interface Bounds {
  box: Box
  /** The number of analyses at a time. */
  size: number
  caps: Caps
  log: PoolLog
}

/** Performs the task once. It calls `onMemory` with the bytes of memory that the task may use when it begins. */
type Perform = (
  caps: Caps,
  isRepeat: boolean,
  onMemory: (bytes: number) => void,
) => Promise<Ending<Task['kind']>>

const textOf = (bytes: number): string =>
  Math.round(bytes / 1e6) < 1000 ? `${Math.round(bytes / 1e6)} MB` : `${Number((bytes / 1e9).toFixed(1))} GB`

export async function runIn({ box, size, caps, log }: Bounds, perform: Perform): Promise<RunResult> {
  const most = Math.min(caps.memory_bytes, memoryIn(box, size))
  const analyses = size === 1 ? 'one analysis' : `${size} analyses`
  const room = `This node may use ${textOf(box.memory_bytes)} of memory and runs ${analyses} at a time`
  const remedy = 'give it more, set ASSAY_WORKERS lower, or let the template read less.'
  let given = most
  const once = async (memory_bytes: number, isRepeat: boolean) => {
    const before = box.kills()
    const ending = await perform({ ...caps, memory_bytes }, isRepeat, (bytes) => {
      given = bytes
    })
    const isKilled = ending.kind === 'died' && ending.killed === true
    return { ending, isShort: isKilled && before !== null && (box.kills() ?? 0) > before }
  }

  const first = await once(most, false)
  if (!first.isShort) {
    const result = resultOf(first.ending)
    const isOfBox = given === most && most < caps.memory_bytes
    return isOfBox ? withReason(result, `Here that is ${textOf(most)}: ${lower(room)}. So ${remedy}`) : result
  }
  const [had, smaller] = [given, Math.max(LEAST_BYTES, Math.floor(given / 2))]
  log.warn(
    { memory_bytes: had, again_with: smaller },
    'the system ended an analysis for want of memory: it runs once more with less',
  )
  const second = await once(smaller, true)
  if (second.isShort)
    return failed(
      'memory_exceeded',
      `The system ended the analysis for want of memory, with limits.memory at ${textOf(had)} and again at ${textOf(smaller)}. ${room}: ${remedy}`,
    )
  return withReason(
    resultOf(second.ending),
    `It had ${textOf(smaller)}, because the system ended it with ${textOf(had)} for want of memory. ${room}: ${remedy}`,
  )
}

const lower = (sentence: string): string => `${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`

/** Returns the result with the reason for the lack of memory after its message. */
function withReason(result: RunResult, reason: string): RunResult {
  if (result.status !== 'failed' || result.error.code !== 'memory_exceeded') return result
  return failed('memory_exceeded', `${result.error.detail} ${reason}`)
}
