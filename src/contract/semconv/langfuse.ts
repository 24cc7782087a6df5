/** Names that only Langfuse reads. It also reads `user.id`, `session.id` and the kinds and contents of OpenInference. */
export const LANGFUSE = {
  tags: 'langfuse.trace.tags',
  /** A prefix: each key of the metadata becomes an attribute. */
  traceMetadata: 'langfuse.trace.metadata',
  /** JSON with dollars. A span with a model, no usage and no cost is priced by Langfuse from its texts. */
  costDetails: 'langfuse.observation.cost_details',
} as const
