import type { FileHandle } from 'node:fs/promises'
import type { SegmentFile } from '../delivery/trace-log/index.ts'
import { PAST } from './journal-line.ts'
import type { Place, Planned } from './journal-plan.ts'

const CHUNK_BYTES = 1_048_576

/** Resolves to the new places of the kept entries. @throws the error of the file system */
export async function copied(plan: readonly Planned[], source: FileHandle, file: SegmentFile): Promise<Place[]> {
  const places: Place[] = []
  for (const run of runsOf(plan)) {
    const bytes = run.reduce((sum, { place }) => sum + place.bytes, 0)
    const read = Buffer.alloc(bytes)
    const { bytesRead } = await source.read(read, 0, bytes, run[0]?.place.offset ?? 0)
    if (bytesRead < bytes) throw new Error('the journal is shorter than what was written to it')
    const lines: Buffer[] = []
    let [from, offset] = [0, file.bytes]
    for (const { place, becomes } of run) {
      const isPast = becomes === 'past'
      const line = read.subarray(from, from + place.bytes)
      from += line.length
      const written = isPast && !place.isPast ? Buffer.concat([PAST, line.subarray(1)]) : line
      lines.push(written)
      places.push({ ...place, isPast, offset, bytes: written.length })
      offset += written.length
    }
    await file.append(Buffer.concat(lines))
  }
  return places
}

function* runsOf(plan: readonly Planned[]): Generator<readonly Planned[]> {
  let run: Planned[] = []
  let [end, bytes] = [0, 0]
  for (const planned of plan) {
    const { place, becomes } = planned
    if (becomes === 'nothing') continue
    if (run.length > 0 && (place.offset !== end || bytes > CHUNK_BYTES)) {
      yield run
      ;[run, bytes] = [[], 0]
    }
    run.push(planned)
    bytes += place.bytes
    end = place.offset + place.bytes
  }
  if (run.length > 0) yield run
}
