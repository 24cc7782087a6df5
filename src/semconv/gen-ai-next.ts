/**
 * What the GenAI conventions have since v1.41, in the repository that they moved to, of what we know: written beside the names of
 * v1.41, none of which has another name there. Unreleased; all have the status Development.
 */
export const GEN_AI_NEXT = {
  requestReasoningLevel: 'gen_ai.request.reasoning.level',
  requestPreviousResponseId: 'gen_ai.request.previous_response.id',
  /** Of the agent whose tool it is: v1.41 has the name on agents only. */
  toolAgentName: 'gen_ai.agent.name',
} as const

export type GenAiNextNames = { readonly [Key in keyof typeof GEN_AI_NEXT]: string }
