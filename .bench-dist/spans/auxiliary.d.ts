import type { AuxiliaryEnd, AuxiliaryStart } from '../contract/index.ts';
import type { SpanDefinition } from './span-definition.ts';
/** A side call of the host (title, compression, vision, guardian): a model request that is not part of the loop. */
export declare const auxiliary: SpanDefinition<AuxiliaryStart, AuxiliaryEnd>;
