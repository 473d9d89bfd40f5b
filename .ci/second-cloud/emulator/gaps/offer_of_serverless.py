"""RDS offers no instances of the class db.serverless, and does not say whether an offer has the Data API.

https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_OrderableDBInstanceOption.html (SupportsHttpEndpoint)
"""
from ministack.services import rds

ACTIONS = rds._ACTION_MAP
PROBE = {"Engine": ["aurora-postgresql"], "DBInstanceClass": ["db.serverless"]}


def is_open():
    return b"db.serverless" not in ACTIONS["DescribeOrderableDBInstanceOptions"](PROBE)[2]


def close():
    describe = ACTIONS["DescribeOrderableDBInstanceOptions"]

    def with_serverless(query):
        if rds._p(query, "DBInstanceClass") != "db.serverless":
            return describe(query)
        status, headers, body = describe({**query, "DBInstanceClass": ["db.r5.large"]})
        field = b"db.serverless</DBInstanceClass><SupportsHttpEndpoint>true</SupportsHttpEndpoint>"
        return status, headers, body.replace(b"db.r5.large</DBInstanceClass>", field)

    ACTIONS["DescribeOrderableDBInstanceOptions"] = with_serverless
