/** The slow-changing contract: the records that a host may emit. Types and closed vocabularies, no behaviour. */

export * from './hook-record.ts'
export * from './hooks.ts'
export * from './host.ts'
export * from './payloads.ts'
export * from './vocabulary.ts'
