/** The slow-changing contract: what a host may tell us. Types and closed vocabularies, no behaviour. */
export * from './belongings.ts'
export * from './hook-record.ts'
export * from './hooks.ts'
export * from './host.ts'
export * from './identity.ts'
export * from './payloads.ts'
export * from './vocabulary.ts'
