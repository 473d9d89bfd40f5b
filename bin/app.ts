import { App, Tags, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { addStacks } from '../lib/infra/stacks.ts';
import { warnWhenNobodyIsTrusted } from '../lib/infra/trust-warning.ts';
import { settings } from './settings.ts';

const app = new App();
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
Tags.of(app).add('application', 'data-out');

const { service } = addStacks(app, settings);
warnWhenNobodyIsTrusted(service);
