"""CloudFormation gives a cluster with ManageMasterUserPassword no secret.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-rds-dbcluster.html (MasterUserSecret.SecretArn)

The owner is made in PostgreSQL with the rights that Aurora gives: no superuser, CREATEROLE, member of rds_password, owner of the
first database.
"""
import json

import psycopg2
from ministack.services import rds, secretsmanager
from ministack.services.cloudformation import provisioners

CLUSTER = provisioners._RESOURCE_HANDLERS["AWS::RDS::DBCluster"]


def is_open():
    cluster, attributes = CLUSTER["create"]("Probe", {"ManageMasterUserPassword": True}, "probe")
    CLUSTER["delete"](cluster, {})
    return "MasterUserSecret.SecretArn" not in attributes


def close():
    create, update = CLUSTER["create"], CLUSTER["update"]

    def with_secret(logical_id, props, stack):
        cluster_id, attributes = create(logical_id, props, stack)
        if str(props.get("ManageMasterUserPassword")).lower() != "true":
            return cluster_id, attributes
        cluster, password = rds._clusters[cluster_id], rds._generate_master_user_password()
        login = {"username": cluster["MasterUsername"], "password": password}
        arn = secretsmanager.create_secret_in_process(f"rds!cluster-{cluster_id}", json.dumps(login))
        key = (props.get("MasterUserSecret") or {}).get("KmsKeyId", "")
        secretsmanager._resolve(arn, use_arn_scope=True)[1]["KmsKeyId"] = key
        cluster["MasterUserSecret"] = {"SecretArn": arn, "SecretStatus": "active", "KmsKeyId": key}
        make_owner(cluster["MasterUsername"], password, cluster["DatabaseName"])
        return cluster_id, {**attributes, "MasterUserSecret.SecretArn": arn}

    def keep_secret(cluster_id, *rest, **named):
        cluster_id, attributes = update(cluster_id, *rest, **named)
        secret = rds._clusters[cluster_id].get("MasterUserSecret")
        return cluster_id, {**attributes, **({"MasterUserSecret.SecretArn": secret["SecretArn"]} if secret else {})}

    CLUSTER["create"], CLUSTER["update"] = with_secret, keep_secret


def make_owner(name, password, database):
    connection = psycopg2.connect(user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("create role rds_password")
    cursor.execute(f'create role "{name}" login createrole createdb in role rds_password password %s', (password,))
    cursor.execute(f'create database "{database}" owner "{name}"')
    cursor.execute(f'''alter database "{database}" set rds.restrict_password_commands = 'on' ''')
    connection.close()
