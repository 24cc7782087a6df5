import { type GenAiNames } from './gen-ai.ts';
import { type GeneralNames } from './general.ts';
import { type OpenInferenceNames } from './openinference.ts';
import { type OwnNames } from './own.ts';
export type Convention = 'own' | 'gen_ai' | 'openinference';
/** All attribute names, resolved once for a namespace and a choice of conventions. */
export interface Names {
    readonly general: GeneralNames;
    readonly own: OwnNames;
    readonly genAi: GenAiNames;
    readonly inference: OpenInferenceNames;
    /** True when a convention is switched off, so that attributes named `DISCARDED` must be taken out. */
    readonly hasDiscarded: boolean;
}
/** The name of every attribute of a convention that is switched off: rows write as always, the tracker drops it. */
export declare const DISCARDED = "";
export declare function resolveNamespace(template: string, namespace: string): string;
export declare function resolveNames(namespace: string, conventions: readonly Convention[]): Names;
