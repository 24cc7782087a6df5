import type { Fired } from '../spans/span-definition.ts'
import type { RecordIds } from './record-ids.ts'

/** One record on its way through the core. */
export interface Incoming {
  readonly fired: Fired<Readonly<Record<string, unknown>>>
  readonly host: string
  readonly ids: RecordIds
  /** The host said when it fired; only then can two records be known for the same. */
  readonly isExplicit: boolean
}
