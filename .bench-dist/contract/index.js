/** The slow-changing contract: what a host may tell us. Types and closed vocabularies, no behaviour. */
export * from './hook-record.js';
export * from './hooks.js';
export * from './host.js';
export * from './identity.js';
export * from './payloads.js';
export * from './vocabulary.js';
