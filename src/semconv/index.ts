/** Names only, one file a convention. */
export * from './gen-ai.ts'
export * from './general.ts'
export * from './langfuse.ts'
export * from './mcp.ts'
export * from './metrics.ts'
export * from './names.ts'
export * from './openinference.ts'
export * from './own.ts'
