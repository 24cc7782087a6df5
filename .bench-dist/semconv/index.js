/** Names only, one file a convention. */
export * from './gen-ai.js';
export * from './general.js';
export * from './metrics.js';
export * from './names.js';
export * from './openinference.js';
export * from './own.js';
